#include "plan_wide.h"

#include <string>

namespace markbase::gpu {

namespace {

/** See segment_wide_nvidia.metal. */
constexpr uint32_t kSimdgroups = 4;
constexpr uint32_t kStageRows = 64;
constexpr uint32_t kPreparedRows = 4;
constexpr uint32_t kMostQueries = 128;

constexpr uint32_t kOutput = 3;
constexpr uint32_t kQueriesArgument = 21;

/** True when pairs in the rows of an operand are aligned to 8 bytes. */
bool has_pairs(const CommandContext& context, uint32_t operand, uint32_t stride) {
  return operand_offset(context.command, operand) % 8 == 0 && stride % 2 == 0;
}

}  // namespace

bool runs_segment_wide(const CommandContext& context) {
  const auto& p = context.params<SegmentAttentionParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0 || (p.width != 64 && p.width != 72)) return false;
  // Parts of a head that are rotated have an even number of pairs.
  if (p.has_prepare != 0 && (p.width % (4 * p.axes) != 0 || !has_pairs(context, 6, p.width))) return false;
  return has_pairs(context, 0, p.q_stride) && has_pairs(context, 1, p.k_stride) && has_pairs(context, 2, p.v_stride) &&
         has_pairs(context, kOutput, p.out_stride);
}

void plan_segment_wide(CommandContext& context) {
  const auto& p = context.params<SegmentAttentionParams>();
  const uint32_t rows = context.rows();
  const std::string width = "_k" + std::to_string(p.width);
  const uint32_t heads[3] = {p.heads, p.kv_heads, p.kv_heads};
  size_t bytes[3], offsets[3];
  for (uint32_t i = 0; i < 3; ++i) {
    bytes[i] = size_t{rows} * heads[i] * p.width * sizeof(uint16_t);
    offsets[i] = context.scratch.take(bytes[i]);
  }
  {
    DispatchBuilder dispatch(context, "segment_wide", "segment_wide_prepare" + width);
    dispatch.operands(0, kOutput).operands(kOutput + 1, kOutput + 4);
    for (uint32_t i = 0; i < 3; ++i) dispatch.scratch(kQueriesArgument + i, offsets[i], bytes[i], true);
    dispatch.grid(divide_up(p.heads + 2 * p.kv_heads, kRowSimdgroups), divide_up(rows, kPreparedRows), 1, kRowThreads);
  }
  // Small blocks if large ones would leave multiprocessors idle.
  const bool is_large = divide_up(rows, kMostQueries) * p.heads >= context.traits.multiprocessors;
  const uint32_t queries = is_large ? kMostQueries : kMostQueries / 2;
  DispatchBuilder dispatch(context, "segment_wide", "segment_wide" + std::to_string(queries) + width);
  dispatch.operand(kOutput);
  for (uint32_t i = 0; i < 3; ++i) dispatch.scratch(kQueriesArgument + i, offsets[i], bytes[i], false);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  // Two stages of keys and values.
  dispatch.shared_bytes(2 * 2 * kStageRows * p.width * sizeof(uint16_t));
  dispatch.grid(divide_up(rows, queries), p.heads, 1, kSimdgroups * kLanes);
}

}  // namespace markbase::gpu
