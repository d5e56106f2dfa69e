#include <algorithm>

#include "plan_linear.h"
#include "weight_formats.h"

namespace markbase::gpu {

LinearProduct product_of(CommandContext& context, const WeightGroup& group, const PreparedRows* rows) {
  LinearProduct product = {context, group, context.params<LinearParams>(), rows};
  const LinearParams whole = product.p;
  product.p.weights = group.count;
  for (uint32_t i = 0; i < group.count; ++i) product.p.weight[i] = whole.weight[group.index[i]];
  if (rows != nullptr) product.p.gathers = product.p.has_residual = product.p.has_norm = 0;
  return product;
}

uint32_t row_alignment_of(const CommandContext& context, const PreparedRows& rows) {
  return activation_alignment(rows.is_scratch ? 0 : operand_offset(context.command, rows.operand), rows.stride);
}

void bind_rows(const PreparedRows& rows, DispatchBuilder* dispatch) {
  if (rows.is_scratch) {
    dispatch->scratch(kFirstOperand, rows.offset, rows.size_bytes, false);
  } else if (rows.operand == kLinearX) {
    dispatch->operand(kLinearX);
  } else {
    dispatch->read(rows.operand, kFirstOperand);
  }
  dispatch->launch().x_stride = rows.stride;
}

void bind_source(const LinearProduct& product, const std::optional<PreparedRows>& rows, DispatchBuilder* dispatch) {
  if (!rows) {
    dispatch->operands(kLinearX, kEpilogueOperand);
    dispatch->launch().x_stride = product.p.x_stride;
    return;
  }
  bind_rows(*rows, dispatch);
  for (uint32_t operand = kLinearResidual; operand < kEpilogueOperand; ++operand) dispatch->nothing(kFirstOperand + operand);
}

void bind_weights(const LinearProduct& product, DispatchBuilder* dispatch) {
  const WeightGroup& group = product.group;
  Launch& launch = dispatch->launch();
  for (uint32_t i = 0; i < kMostWeights; ++i) {
    const uint32_t place = kFirstWeight + kWeightParts * i, operand = kFirstWeight + kWeightParts * group.index[i];
    for (uint32_t part = 0; part < kWeightParts; ++part) {
      if (i >= group.count) dispatch->nothing(kFirstOperand + place + part);
      else dispatch->operand(operand + part, kFirstOperand + place + part, place + part);
    }
    if (i >= group.count) continue;
    const LinearWeightParams& weight = product.p.weight[i];
    launch.alignment[i] = row_alignment(product.context.command, operand, weight_row_bytes(weight.format, weight.bits, product.p.in));
  }
  // Both streams of a pair are loaded in the same way.
  if (product.p.epilogue == kLinearGeglu) launch.alignment[0] = std::min(launch.alignment[0], launch.alignment[1]);
}

void bind_outputs(const LinearProduct& product, DispatchBuilder* dispatch) {
  const bool has_one = product.p.epilogue != kLinearStore || product.output != nullptr;
  const uint32_t count = has_one ? 1 : product.group.count;
  const uint32_t first = kFirstWeight + kWeightParts * product.context.params<LinearParams>().weights;
  for (uint32_t i = 0; i < kMostWeights; ++i) {
    const uint32_t place = kFirstOutput + i;
    if (i >= count) dispatch->nothing(kFirstOperand + place);
    else if (product.output != nullptr) dispatch->scratch(kFirstOperand + place, product.output->offset, product.output->size_bytes, true);
    else dispatch->operand(first + (has_one ? 0 : product.group.index[i]), kFirstOperand + place, place);
  }
}

void bind_products(const LinearProduct& product, DispatchBuilder* dispatch) {
  dispatch->operand(kEpilogueOperand);
  bind_weights(product, dispatch);
  bind_outputs(product, dispatch);
  dispatch->step(kStepArgument, StepArray::kOutputRow);
}

}  // namespace markbase::gpu
