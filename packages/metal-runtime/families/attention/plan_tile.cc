#include "plan_tile.h"

#include <algorithm>

#include "scalar_type.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kTileThreads = 128;  ///< see attention_tile.metal

/** Queries of a threadgroup, limited by the registers for their sums of values. */
uint32_t block_queries(uint32_t width) { return width <= 256 ? 32 : 16; }

/** Widest head of the kernel for heads of this width. */
uint32_t widest_head(uint32_t width) { return width <= 64 ? 64 : width <= 128 ? 128 : width <= 256 ? 256 : 512; }

}  // namespace

std::string attention_tile_kernel(const AttentionParams& p) {
  const std::string cache = p.cache_type == kScalarF32 ? "f32" : "bf16";
  return "attention_tile_k" + std::to_string(widest_head(p.width)) + "_" + cache;
}

void cut_attention_tile(const AttentionParams& p, uint32_t rows, DispatchBuilder* dispatch) {
  dispatch->step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch->step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch->step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  const uint32_t queries = block_queries(p.width), group_heads = p.heads / p.kv_heads;
  const uint32_t heads = std::min(group_heads, queries);
  dispatch->grid(divide_up(rows, queries / heads), p.kv_heads * divide_up(group_heads, heads), 1, kTileThreads);
}

}  // namespace markbase::gpu
