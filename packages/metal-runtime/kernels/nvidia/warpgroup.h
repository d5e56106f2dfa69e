#pragma once

/**
 * Sums of a tile by wgmma: two warpgroups compute rows × 128 outputs, each of them all rows of 64 outputs. `W` is a
 * WideTile of MARKBASE_WARPGROUP_THREADS. The including file has metal_stdlib, linear_wide_tiles.h and nvidia/wide_tile.h.
 */

/** Products of 16 columns in a stage. */
constant constexpr int kProducts = MARKBASE_WIDE_COLUMNS / 16;

/** A lane's weights of the two outputs that it contributes to each product of a stage, as pairs: of output 8 j .. pairs j and 2 + j. */
struct StageWeights {
  uint pairs[kProducts][4];
};

/**
 * Adds spans `begin` to `end`, at least one. `source.copy(stage, span, thread_index)` starts the copies of a stage, `maker.make(stage,
 * span, weights)` computes a lane's weights from a stage.
 */
template <typename W, typename Source, typename Maker>
inline void multiply_spans(
    Source source, Maker maker, uint begin, uint end, threadgroup uchar* memory, uint thread_index, thread float (&sums)[W::rows / 2]) {
  static_assert(W::stage_bytes % 1024 == 0, "products find swapped pieces by the bits of addresses");
#pragma unroll
  for (uint i = 0; i + 1 < W::stages; ++i) {
    if (begin + i < end) source.copy(memory + i * W::stage_bytes, begin + i, thread_index);
    nvidia::end_copies();
  }
  nvidia::wait_copies<int(W::stages) - 2>();
  nvidia::show_copies();
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // The weights of the next stage are computed while one is multiplied, or while another threadgroup of the multiprocessor multiplies.
  constexpr uint ahead = warpgroup_tiles(W::rows, W::bits) == 1 ? 1 : 0;
  StageWeights weights[ahead + 1];
  maker.make(memory, begin, weights[0]);
  // The stage that is multiplied, the next one, and the one that is filled meanwhile, which was multiplied before.
  uint stage = 0, next = W::stage_bytes, filled = (W::stages - 1) * W::stage_bytes;
  uint first = begin;
  do {
#pragma unroll
    for (uint i = 0; i <= ahead; ++i) {
      const uint span = first + i;
      nvidia::begin_products();
#pragma unroll
      for (int m = 0; m < kProducts; ++m) nvidia::multiply_warpgroup<W::rows>(sums, weights[i].pairs[m], memory + stage, m);
      nvidia::end_products();
      if (span + 1 >= end) break;
      // The buffers that are overwritten now are no longer in use.
      nvidia::wait_products<ahead>();
      nvidia::wait_copies<int(W::stages) - 3>();
      nvidia::show_copies();
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (span + W::stages - 1 < end) source.copy(memory + filled, span + W::stages - 1, thread_index);
      nvidia::end_copies();
      maker.make(memory + next, span + 1, weights[ahead - i]);
      filled = stage;
      stage = next;
      next = next + W::stage_bytes == W::stages * W::stage_bytes ? 0 : next + W::stage_bytes;
    }
    first += ahead + 1;
  } while (first < end);
  nvidia::wait_products<0>();
}

/** Stores the sums to threadgroup memory, [rows][product_stride], over the stages. */
template <typename W>
inline void place_sums(threadgroup uchar* memory, uint thread_index, thread const float (&sums)[W::rows / 2]) {
  const uint lane = thread_index % 32, simdgroup = thread_index / 32;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup float* products = (threadgroup float*)memory + lane % 4 * 2 * W::product_stride + simdgroup * 16 + lane / 4;
#pragma unroll
  for (uint j = 0; j < W::rows / 8; ++j) {
#pragma unroll
    for (uint i = 0; i < 4; ++i) products[(8 * j + i % 2) * W::product_stride + i / 2 * 8] = sums[4 * j + i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
