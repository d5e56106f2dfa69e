#include "segment_attention_params.h"

#include "attention/attention_params.h"
#include "attention/plan_tile.h"
#include "scalar_type.h"
#include "plan_wide.h"
#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** Maximum head width of attention.metal; there is no kernel for wider heads. */
constexpr uint32_t kMostWidth = 512;

constexpr uint32_t kQueriesArgument = 21;
constexpr uint32_t kKeysArgument = 22;
constexpr uint32_t kValuesArgument = 23;

/** Runs attention.metal over contiguous rows, without caches and windows. */
AttentionParams attention_over_rows(const SegmentAttentionParams& p) {
  AttentionParams params{};
  params.row_set = p.row_set;
  params.heads = p.heads;
  params.kv_heads = p.kv_heads;
  params.width = p.width;
  params.q_stride = p.heads * p.width;
  params.out_stride = p.out_stride;
  params.cache_type = kScalarF32;
  params.is_fast = p.is_fast;
  return params;
}

}  // namespace

Status plan_segment_attention(CommandContext& context) {
  const auto& p = context.params<SegmentAttentionParams>();
  const uint32_t rows = context.rows();
  if (p.width > kMostWidth) return unsupported(context.command, "heads of at most 512 elements");
  if (runs_segment_wide(context)) {
    plan_segment_wide(context);
    return Status::good();
  }
  const size_t query_bytes = size_t{rows} * p.heads * p.width * sizeof(float);
  const size_t key_bytes = size_t{rows} * p.kv_heads * p.width * sizeof(float);
  const size_t queries = context.scratch.take(query_bytes);
  const size_t keys = context.scratch.take(key_bytes), values = context.scratch.take(key_bytes);
  DispatchBuilder(context, "segment_attention", "segment_prepare")
      .operands(0, 3)
      .operands(4, 7)
      .scratch(kQueriesArgument, queries, query_bytes, true)
      .scratch(kKeysArgument, keys, key_bytes, true)
      .scratch(kValuesArgument, values, key_bytes, true)
      .grid(p.heads + 2 * p.kv_heads, rows, 1, kLanes);

  const AttentionParams attention = attention_over_rows(p);
  const bool is_wide = p.width > 256;
  const uint32_t group_heads = p.heads / p.kv_heads;
  const uint32_t heads = group_heads >= 4 && !is_wide ? 4 : group_heads >= 2 ? 2 : 1;
  const std::string row_kernel = std::string("attention_") + (is_wide ? "k512h" : "k256h") + std::to_string(heads) + "_f32";
  DispatchBuilder dispatch(context, is_tiled(attention) ? "attention_tile" : "attention",
                           is_tiled(attention) ? attention_tile_kernel(attention) : row_kernel);
  dispatch.params(attention);
  dispatch.scratch(kFirstOperand, queries, query_bytes, false);
  dispatch.scratch(kFirstOperand + 1, keys, key_bytes, false);
  dispatch.scratch(kFirstOperand + 2, values, key_bytes, false);
  dispatch.operand(3);
  dispatch.launch().x_stride = p.heads * p.width;
  dispatch.launch().has_segments = 1;
  if (is_tiled(attention)) {
    cut_attention_tile(attention, rows, &dispatch);
    return Status::good();
  }
  for (uint32_t argument = 6; argument <= 10; ++argument) dispatch.nothing(argument);
  dispatch.nothing(kScratchArgument);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.grid(1, p.kv_heads * divide_up(group_heads, heads), rows, kRowThreads);
  return Status::good();
}

}  // namespace markbase::gpu
