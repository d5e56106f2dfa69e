#include "plan_wide.h"

#include <algorithm>
#include <string>

#include "cache_block.h"
#include "plan_spans.h"
#include "scalar_type.h"

namespace markbase::gpu {

namespace {

/** See attention_wide_nvidia.metal. */
constexpr uint32_t kWideChunk = 32;
static_assert(MARKBASE_BLOCK_TOKENS % kWideChunk == 0, "attention_wide finds one place for a chunk");
constexpr uint32_t kPartColumns = 256;
constexpr uint32_t kSimdgroupQueries = 16;
constexpr uint32_t kMostQueries = 64;

/** Threadgroup memory of the kernels, including what they declare: for blocks of 32 queries, and of 64 with heads of 512 columns. */
constexpr uint32_t kMostSharedBytes = 160 * 1024;
constexpr uint32_t kLargestSharedBytes = 182 * 1024;

/** Two stages of keys and values; for wide heads, also the scores that simdgroups exchange. */
uint32_t shared_bytes(uint32_t width, uint32_t simdgroups) {
  const uint32_t stages = 2 * 2 * kWideChunk * width * 2;
  return width == kPartColumns ? stages : stages + simdgroups * kSimdgroupQueries * kWideChunk * 4;
}

struct WideGrid {
  uint32_t queries;
  uint32_t blocks;  ///< of rows
  uint32_t tiles;   ///< of heads
};

WideGrid wide_grid(const AttentionParams& p, uint32_t rows, uint32_t queries) {
  const uint32_t group_heads = p.heads / p.kv_heads, heads = std::min(group_heads, queries);
  return {queries, divide_up(rows, queries / heads), p.kv_heads * divide_up(group_heads, heads)};
}

}  // namespace

bool runs_attention_wide(const CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  if (context.traits.shared_bytes < kMostSharedBytes || p.is_fast == 0 || p.has_few_rows != 0) return false;
  if ((p.width != 256 && p.width != 512) || p.cache_type != kScalarBf16) return false;
  if (p.has_prepare == 0 && (!is_aligned(context, 0) || p.q_stride % 4 != 0)) return false;
  return is_aligned(context, 1) && is_aligned(context, 2) && is_aligned(context, kAttentionOutput) && p.out_stride % 4 == 0;
}

void plan_attention_wide(CommandContext& context, bool is_prepared, size_t prepared, size_t prepared_bytes) {
  const auto& p = context.params<AttentionParams>();
  // Small blocks if large ones would leave multiprocessors idle.
  WideGrid grid = wide_grid(p, context.rows(), kMostQueries);
  const bool fits = p.width == kPartColumns || context.traits.shared_bytes >= kLargestSharedBytes;
  if (!fits || grid.blocks * grid.tiles < context.traits.multiprocessors) grid = wide_grid(p, context.rows(), kMostQueries / 2);
  const uint32_t simdgroups = grid.queries / kSimdgroupQueries * (p.width / kPartColumns);
  DispatchBuilder dispatch(context, "attention_wide", "attention_wide" + std::to_string(grid.queries) + "_k" + std::to_string(p.width));
  if (is_prepared) {
    dispatch.scratch(kFirstOperand, prepared, prepared_bytes, false);
  } else {
    dispatch.operand(0);
  }
  dispatch.read(1, kFirstOperand + 1).read(2, kFirstOperand + 2).operand(kAttentionOutput);
  dispatch.launch().x_stride = is_prepared ? p.heads * p.width : p.q_stride;
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.shared_bytes(shared_bytes(p.width, simdgroups));
  dispatch.grid(grid.blocks, grid.tiles, 1, simdgroups * kLanes);
}

}  // namespace markbase::gpu
