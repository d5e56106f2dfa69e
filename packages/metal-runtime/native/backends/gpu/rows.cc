/** Families whose kernels take one thread an element, or one threadgroup a vector. */
#include "causal_conv_params.h"
#include "column_affine_params.h"
#include "conv2d_params.h"
#include "elementwise_params.h"
#include "embed_params.h"
#include "gather_rows_params.h"
#include "kv_append_params.h"
#include "kv_copy_params.h"
#include "layer_norm_params.h"
#include "local_attention_params.h"
#include "moe_combine_params.h"
#include "moe_route_params.h"
#include "pool_rows_params.h"
#include "rms_norm_params.h"
#include "rope_params.h"
#include "rope_table_params.h"

#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** Most experts that route_row chooses among, and most that a row can choose; see metal_route.h. */
constexpr uint32_t kMaxExperts = 1024;
constexpr uint32_t kMaxChosen = 128;

/** A grid of one thread an element of [rows, width]. */
void elements(DispatchBuilder& dispatch, uint32_t rows, uint32_t width) {
  dispatch.grid(divide_up(width, kRowThreads), rows, 1, kRowThreads);
}

}  // namespace

Status plan_elementwise(CommandContext& context) {
  DispatchBuilder dispatch(context, "elementwise", "elementwise");
  dispatch.operands(0, 3);
  elements(dispatch, context.rows(), context.params<ElementwiseParams>().width);
  return Status::good();
}

Status plan_embed(CommandContext& context) {
  const auto& p = context.params<EmbedParams>();
  DispatchBuilder dispatch(context, "embed", "embed");
  dispatch.operands(0, 5);
  dispatch.step(kStepArgument, p.is_layer_table != 0 ? StepArray::kLayerToken : StepArray::kToken);
  dispatch.step(kStepArgument + 1, StepArray::kSoftIndex);
  elements(dispatch, context.rows(), p.width);
  return Status::good();
}

Status plan_gather_rows(CommandContext& context) {
  DispatchBuilder dispatch(context, "gather_rows", "gather_rows");
  dispatch.operands(0, 2).step(kStepArgument, StepArray::kOutputRow);
  elements(dispatch, context.rows(), context.params<GatherRowsParams>().width);
  return Status::good();
}

Status plan_kv_append(CommandContext& context) {
  const auto& p = context.params<KvAppendParams>();
  DispatchBuilder dispatch(context, "kv_append", "kv_append");
  dispatch.operands(0, 4);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set));
  elements(dispatch, context.rows(), p.kv_heads * p.width);
  return Status::good();
}

Status plan_causal_conv(CommandContext& context) {
  DispatchBuilder dispatch(context, "causal_conv", "causal_conv");
  dispatch.operands(0, 3).step(kStepArgument, StepArray::kPosition);
  elements(dispatch, context.rows(), context.params<CausalConvParams>().width);
  return Status::good();
}

Status plan_column_affine(CommandContext& context) {
  DispatchBuilder dispatch(context, "column_affine", "column_affine");
  dispatch.operands(0, 4);
  elements(dispatch, context.rows(), context.params<ColumnAffineParams>().width);
  return Status::good();
}

Status plan_conv2d(CommandContext& context) {
  const auto& p = context.params<Conv2dParams>();
  DispatchBuilder dispatch(context, "conv2d", "conv2d");
  dispatch.operands(0, 4).step(kStepArgument, StepArray::kPosition);
  const uint32_t width = (p.frequencies + 1) / 2 * p.out_channels;
  dispatch.grid(divide_up(width, kRowThreads), p.times / 2, context.rows(), kRowThreads);
  return Status::good();
}

Status plan_layer_norm(CommandContext& context) {
  const auto& p = context.params<LayerNormParams>();
  const uint32_t threads = p.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  DispatchBuilder(context, "layer_norm", "layer_norm").operands(0, 4).grid(p.groups, context.rows(), 1, threads);
  return Status::good();
}

Status plan_local_attention(CommandContext& context) {
  const auto& p = context.params<LocalAttentionParams>();
  DispatchBuilder dispatch(context, "local_attention", "local_attention");
  dispatch.operands(0, 6).step(kStepArgument, StepArray::kPosition);
  dispatch.grid(p.heads, context.rows(), 1, kLanes);
  return Status::good();
}

Status plan_pool_rows(CommandContext& context) {
  DispatchBuilder dispatch(context, "pool_rows", "pool_rows");
  dispatch.operands(0, 2).step(kStepArgument, StepArray::kOutputRow);
  // The kernel needs to know where the rows that it adds up end.
  dispatch.launch().parts = context.shape.rows[kAllRows];
  elements(dispatch, context.rows(), context.params<PoolRowsParams>().width);
  return Status::good();
}

Status plan_kv_copy(CommandContext& context) {
  const auto& p = context.params<KvCopyParams>();
  DispatchBuilder dispatch(context, "kv_copy", "kv_copy");
  dispatch.operands(0, 3);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set));
  elements(dispatch, context.rows(), p.width);
  return Status::good();
}

Status plan_moe_combine(CommandContext& context) {
  DispatchBuilder dispatch(context, "moe_combine", "moe_combine");
  dispatch.operands(0, 3);
  elements(dispatch, context.rows(), context.params<MoeCombineParams>().width);
  return Status::good();
}

Status plan_moe_route(CommandContext& context) {
  const auto& p = context.params<MoeRouteParams>();
  if (p.experts > kMaxExperts || p.top_k > kMaxChosen) {
    return unsupported(context.command, "at most 128 of 1024 experts");
  }
  DispatchBuilder(context, "moe_route", "moe_route").operands(0, 4).grid(context.rows(), 1, 1, kLanes);
  return Status::good();
}

Status plan_rms_norm(CommandContext& context) {
  const auto& p = context.params<RmsNormParams>();
  const uint32_t threads = p.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  DispatchBuilder(context, "rms_norm", "rms_norm").operands(0, 4).grid(p.groups, context.rows(), 1, threads);
  return Status::good();
}

Status plan_rope(CommandContext& context) {
  const auto& p = context.params<RopeParams>();
  DispatchBuilder dispatch(context, "rope", "rope");
  dispatch.operands(0, 3);
  elements(dispatch, context.rows(), p.heads * p.axes * (p.width / p.axes / 2));
  return Status::good();
}

Status plan_rope_table(CommandContext& context) {
  const auto& p = context.params<RopeTableParams>();
  DispatchBuilder dispatch(context, "rope_table", "rope_table");
  dispatch.operands(0, 2).step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  elements(dispatch, context.rows(), p.pairs);
  return Status::good();
}

}  // namespace markbase::gpu
