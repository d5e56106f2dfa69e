#include "plan_prologue.h"

#include "elementwise/elementwise_params.h"
#include "gather_rows/gather_rows_params.h"
#include "plan_cores.h"
#include "plan_wide.h"

namespace markbase::gpu {

namespace {

/** Columns of a row that are loaded together; threadgroup memory holds a multiple of them. */
constexpr uint32_t kRowChunk = 8;

/** Gathers the rows that are multiplied, with the kernel of gather_rows. */
PreparedRows gather(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const size_t bytes = size_t{context.rows()} * p.in * sizeof(float);
  const PreparedRows rows = {true, context.scratch.take(bytes), bytes, kLinearX, p.in};
  const GatherRowsParams params = {p.in, p.x_stride, p.in};
  DispatchBuilder(context, "gather_rows", "gather_rows")
      .params(params)
      .operand(kLinearX)
      .scratch(kFirstOperand + 1, rows.offset, rows.size_bytes, true)
      .step(kStepArgument, StepArray::kOutputRow)
      .grid(divide_up(p.in, kRowThreads), context.rows(), 1, kRowThreads);
  return rows;
}

/** Result in float32: in scratch memory with a norm, in h without. */
PreparedRows prepare(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (!has_prologue(p)) return p.gathers == 0 ? PreparedRows{false, 0, 0, kLinearX, p.x_stride} : gather(context);
  PreparedRows rows = {p.has_norm != 0, 0, size_t{context.rows()} * p.in * sizeof(float), kLinearH, p.has_norm != 0 ? p.in : p.h_stride};
  DispatchBuilder dispatch(context, "linear_prologue", "linear_prologue");
  dispatch.operands(kLinearX, kEpilogueOperand);
  if (rows.is_scratch) {
    rows.offset = context.scratch.take(rows.size_bytes);
    dispatch.scratch(kScratchArgument, rows.offset, rows.size_bytes, true);
  } else {
    dispatch.nothing(kScratchArgument);
  }
  dispatch.launch().x_stride = p.in;
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  dispatch.shared_row(p.in, kRowChunk).grid(context.rows(), 1, 1, kRowThreads);
  return rows;
}

}  // namespace

bool has_same_input(const LinearWeightParams& a, const LinearWeightParams& b) {
  if (a.has_clip == 0 && b.has_clip == 0) return true;
  return a.has_clip == b.has_clip && a.input_low == b.input_low && a.input_high == b.input_high;
}

PreparedRows prepare_rows(CommandContext& context) {
  if (!are_wide(context)) return prepare(context);
  const auto& p = context.params<LinearParams>();
  if (p.has_norm != 0 || (has_prologue(p) && packs_with_prologue(context))) return prepare_wide(context);
  const PreparedRows rows = prepare(context);
  // All weights take the same rows, so the bytes are widened once.
  return row_alignment_of(context, rows) < 16 ? rows : widen_rows(context, p, rows);
}

PreparedRows clamp_rows(const LinearProduct& product) {
  const PreparedRows& rows = *product.rows;
  const LinearWeightParams& weight = product.p.weight[0];
  if (weight.has_clip == 0 || rows.is_wide) return rows;
  CommandContext& context = product.context;
  const uint32_t in = product.p.in;
  const size_t bytes = size_t{context.rows()} * in * sizeof(float);
  const PreparedRows clamped = {true, context.scratch.take(bytes), bytes, kLinearX, in};
  const ElementwiseParams params = {kElementwiseClamp, product.p.row_set, in, rows.stride, 0, in, weight.input_low, weight.input_high};
  DispatchBuilder dispatch(context, "elementwise", "elementwise");
  dispatch.params(params);
  bind_rows(rows, &dispatch);
  dispatch.nothing(kFirstOperand + 1).scratch(kFirstOperand + 2, clamped.offset, bytes, true);
  dispatch.grid(divide_up(in, kRowThreads), context.rows(), 1, kRowThreads);
  return clamped;
}

std::optional<PreparedRows> source_rows(const LinearProduct& product) {
  if (product.rows == nullptr) return std::nullopt;
  return clamp_rows(product);
}

}  // namespace markbase::gpu
