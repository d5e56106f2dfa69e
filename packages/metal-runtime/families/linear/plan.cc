#include "plan_linear.h"

#include <span>

#include "elementwise/elementwise_params.h"
#include "plan_prologue.h"
#include "step_planner.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/**
 * In order of preference. The strategies before kRowLinear are faster where they apply; the last one takes every product of prepared rows.
 */
constexpr const LinearStrategy* kForNvidia[] = {&kStreamLinear, &kCoresLinear, &kExactLinear, &kWideLinear,
                                                &kRowLinear,    &kTileLinear,  &kRowsLinear};
constexpr const LinearStrategy* kForOthers[] = {&kRowLinear, &kTileLinear, &kRowsLinear};

/** Plans a product with the first strategy that takes it; false if none does. */
bool multiply(const LinearProduct& product) {
  using Strategies = std::span<const LinearStrategy* const>;
  const bool is_nvidia = product.context.traits.has_tensor_cores();
  for (const LinearStrategy* strategy : is_nvidia ? Strategies(kForNvidia) : Strategies(kForOthers)) {
    if (!strategy->takes(product)) continue;
    strategy->plan(product);
    return true;
  }
  return false;
}

/** True when one dispatch can multiply with both. */
bool is_alike(const LinearWeightParams& a, const LinearWeightParams& b) { return is_stored_alike(a, b) && has_same_input(a, b); }

/** True when one dispatch can do the prologue and multiply with all weights. */
bool is_uniform(const LinearParams& p) {
  for (uint32_t i = 0; i < p.weights; ++i) {
    if (p.weight[i].has_clip != 0 || !is_alike(p.weight[0], p.weight[i])) return false;
  }
  return true;
}

/** Products with all weights of a command; weights of the same kind share a dispatch. */
void multiply_groups(CommandContext& context, const PreparedRows& rows) {
  const auto& p = context.params<LinearParams>();
  bool is_done[kMostWeights] = {};
  for (uint32_t i = 0; i < p.weights; ++i) {
    if (is_done[i]) continue;
    WeightGroup group;
    for (uint32_t j = i; j < p.weights; ++j) {
      if (is_done[j] || !is_alike(p.weight[i], p.weight[j])) continue;
      is_done[j] = true;
      group.index[group.count++] = j;
    }
    multiply(product_of(context, group, &rows));
  }
}

/** geglu of two weights that are stored differently: two products, then the formula. */
void multiply_unlike_pair(CommandContext& context, const PreparedRows& rows) {
  const auto& p = context.params<LinearParams>();
  const uint32_t out = p.weight[0].out;
  const size_t bytes = size_t{context.rows()} * out * sizeof(float);
  ScratchOutput outputs[2];
  for (uint32_t i = 0; i < 2; ++i) {
    outputs[i] = {context.scratch.take(bytes), bytes};
    LinearProduct product = product_of(context, {1, {i}}, &rows);
    product.p.epilogue = kLinearStore;
    product.p.weight[0].y_stride = out;
    product.output = &outputs[i];
    multiply(product);
  }
  const ElementwiseParams geglu = {kElementwiseGeglu, p.row_set, out, out, out, p.weight[0].y_stride, 0, 0};
  DispatchBuilder(context, "elementwise", "elementwise")
      .params(geglu)
      .scratch(kFirstOperand, outputs[0].offset, bytes, false)
      .scratch(kFirstOperand + 1, outputs[1].offset, bytes, false)
      .operand(kFirstWeight + kWeightParts * p.weights, kFirstOperand + 2, 0)
      .grid(divide_up(out, kRowThreads), context.rows(), 1, kRowThreads);
}

}  // namespace

Status plan_linear(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (has_prologue(p) && p.in * sizeof(float) > kMaxSharedRowBytes) {
    return unsupported(context.command, "rows with a norm have at most 7680 elements");
  }
  if (is_uniform(p) && multiply(product_of(context, {p.weights, {0, 1, 2}}, nullptr))) return Status::good();
  const PreparedRows rows = prepare_rows(context);
  if (p.epilogue == kLinearGeglu && !is_alike(p.weight[0], p.weight[1])) multiply_unlike_pair(context, rows);
  else multiply_groups(context, rows);
  return Status::good();
}

}  // namespace markbase::gpu
