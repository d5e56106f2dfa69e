/**
 * attention_tile: out = softmax(q k^T) v per query head for many rows, in `fast`, scale 1.
 *
 * A threadgroup of four simdgroups takes a block of queries: several rows × the query heads of one kv head. It loops over tiles of 32 keys,
 * which all queries of the block share, with a running maximum; keys and values go through threadgroup memory in slabs of 64 columns, and
 * simdgroups multiply them as bf16 matrices with float32 sums. Adjacent rows of one sequence (or segment) share tiles; rows of another
 * one take a separate pass.
 *
 * Tiles begin at absolute multiples of 32 positions, and a tile that a query does not see changes none of its bits: a row gives the same
 * bits in any step of a program.
 */
#include <metal_stdlib>
using namespace metal;

#include "attention_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"
#include "cache_block.h"
#include "metal_cache.h"
#include "metal_attention.h"
#include "metal_fragments.h"

constant constexpr uint kTileThreads = 128;
constant constexpr uint kTileKeys = 32;
constant constexpr uint kSlabColumns = 64;

/** Elements between two rows of a tile: adjacent rows begin in different banks. */
constant constexpr uint kSlabStride = kSlabColumns + 8;
constant constexpr uint kScoreStride = kTileKeys + 4;
constant constexpr uint kWeightStride = kTileKeys + 8;

/** Keys of a tile whose addresses a thread keeps: those that it loads, in quads of columns. */
constant constexpr uint kKeyStep = kTileThreads / (kSlabColumns / 4);
constant constexpr uint kOwnKeys = kTileKeys / kKeyStep;

/** A run of consecutive rows of one sequence or segment in a block, and the range of positions that they see. */
struct Run {
  uint begin;  ///< see StepRows::begin
  uint end;    ///< one past the last row
  Visible seen;
};

/** Arrays that describe the rows of a step. */
struct StepRows {
  device const int* positions;
  device const int* slots;
  device const int* visible_ends;
  device const int* tables;
  uint cache_kind;
  uint window;
  bool has_segments;

  /** Where the table of a row's sequence begins, or the first row of its segment. */
  uint begin(uint row) const { return has_segments ? row - uint(positions[row]) : uint(slots[row]); }

  /** Row of the keys for the first position of a tile; a tile is one block of the cache. */
  ulong tile_begin(uint begin, uint position) const {
    return has_segments ? ulong(begin) + position : cache_table(tables, int(begin), cache_kind).block(position);
  }

  Visible seen(uint row) const {
    if (has_segments) return {0, uint(visible_ends[row]) + 1};
    return visible_positions(window, positions[row], visible_ends[row]);
  }

  /** The run that begins with row `first`, up to row `end`. */
  Run run_from(uint first, uint end) const {
    Run run = {this->begin(first), first + 1, seen(first)};
    for (; run.end < end && this->begin(run.end) == run.begin; ++run.end) {
      const Visible next = seen(run.end);
      run.seen = {min(run.seen.low, next.low), max(run.seen.high, next.high)};
    }
    return run;
  }
};

/** Columns first .. first + 64 of the keys (or values) of a tile, as T; zeros for keys that no row of the run sees. */
template <typename Cache, typename T>
inline void load_slab(
    device const uchar* cache, thread const ulong* heads, uint seen_keys, uint first, uint width, threadgroup T* slab, uint thread_index) {
  const uint key = thread_index / (kSlabColumns / 4), column = thread_index % (kSlabColumns / 4) * 4;
  for (uint i = 0; i < kOwnKeys; ++i) {
    float4 quad = float4(0.0f);
    if ((seen_keys >> i & 1u) != 0) quad = cached_quad<Cache>(cache, heads[i], first + column, width);
    threadgroup T* to = slab + (key + i * kKeyStep) * kSlabStride + column;
    to[0] = T(quad.x);
    to[1] = T(quad.y);
    to[2] = T(quad.z);
    to[3] = T(quad.w);
  }
}

/** `slabs`: of the widest head; `queries`: of a block, a multiple of 16. */
template <typename Cache, typename T, int slabs, int queries>
kernel void attention_tile(constant AttentionParams& p [[buffer(0)]],
                           constant Launch& launch [[buffer(1)]],
                           device const float* q [[buffer(2)]],
                           device const uchar* keys [[buffer(3)]],
                           device const uchar* values [[buffer(4)]],
                           device float* out [[buffer(5)]],
                           device const int* positions [[buffer(24)]],
                           device const int* slots [[buffer(25)]],
                           device const int* visible_ends [[buffer(26)]],
                           device const int* tables [[buffer(27)]],
                           uint2 at [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint kQueryStride = slabs * kSlabColumns + 8;
  constexpr int kBlocks = queries / 16;
  // Threads per query in the softmax, and elements of a tile per thread.
  constexpr uint kQueryThreads = kTileThreads / queries;
  constexpr uint kThreadKeys = kTileKeys / kQueryThreads;
  threadgroup T block[queries * kQueryStride];
  threadgroup T slab[kTileKeys * kSlabStride];
  threadgroup float scores[queries * kScoreStride];
  threadgroup T weights[queries * kWeightStride];
  threadgroup float scales[queries * 8];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint group_heads = p.heads / p.kv_heads;
  const uint heads = min(group_heads, uint(queries));
  const uint head_tiles = (group_heads + heads - 1) / heads;
  const uint g = at.y / head_tiles, first_head = g * group_heads + at.y % head_tiles * heads;
  const uint block_rows = uint(queries) / heads;
  const uint first_row = at.x * block_rows, end_row = min(first_row + block_rows, launch.rows);
  const StepRows rows = {positions, slots, visible_ends, tables, p.cache_kind, p.window, launch.has_segments != 0};
  const ulong kv_width = ulong(p.kv_heads) * p.width;

  // 1. The queries of the block, padded with zeros. The scales of each block of eight are a diagonal matrix.
  for (uint i = thread_index; i < queries * kQueryStride; i += kTileThreads) {
    const uint row = first_row + i / kQueryStride / heads, head = first_head + i / kQueryStride % heads;
    const uint column = i % kQueryStride;
    const bool exists = row < end_row && head < (g + 1) * group_heads && column < p.width;
    block[i] = T(exists ? q[ulong(row) * launch.x_stride + head * p.width + column] : 0.0f);
  }
  for (uint i = thread_index; i < queries * 8; i += kTileThreads) scales[i] = 0.0f;

  // 2. The query whose weights this thread computes together with others: its visible range and running totals.
  const uint query = thread_index / kQueryThreads, first_key = thread_index % kQueryThreads * kThreadKeys;
  const uint own_row = first_row + query / heads, own_head = first_head + query % heads;
  const bool has_query = own_row < end_row && own_head < (g + 1) * group_heads;
  Visible own_seen = {0, 0};
  if (has_query) own_seen = rows.seen(own_row);
  Softmax total = {kLowest, 0.0f};
  // Sums of values: a simdgroup keeps columns 8 s .. 8 s + 8 of every 32.
  SumFragment sums[kBlocks][slabs * 2];
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < slabs * 2; ++j) clear(sums[i][j]);
  }

  for (uint run_begin = first_row; run_begin < end_row;) {
    const Run run = rows.run_from(run_begin, end_row);
    const bool is_own = own_row >= run_begin && own_row < run.end;
    run_begin = run.end;
    for (uint begin = run.seen.low / kTileKeys * kTileKeys; begin < run.seen.high; begin += kTileKeys) {
      const ulong tile_begin = rows.tile_begin(run.begin, begin);
      ulong key_heads[kOwnKeys];
      uint seen_keys = 0;
      for (uint i = 0; i < kOwnKeys; ++i) {
        const uint key = thread_index / (kSlabColumns / 4) + i * kKeyStep, position = begin + key;
        key_heads[i] = (tile_begin + key) * kv_width + g * p.width;
        if (position >= run.seen.low && position < run.seen.high) seen_keys |= 1u << i;
      }

      // 3. Scores: a simdgroup computes those of 8 keys.
      SumFragment products[kBlocks];
      for (int i = 0; i < kBlocks; ++i) clear(products[i]);
      for (uint first = 0; first < p.width; first += kSlabColumns) {
        load_slab<Cache>(keys, key_heads, seen_keys, first, p.width, slab, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < kSlabColumns && first + k < p.width; k += 16) {
          OutputFragment<T> key;
          load_outputs(key, slab + 8 * simdgroup * kSlabStride + k, kSlabStride, lane);
          for (int i = 0; i < kBlocks; ++i) {
            RowFragment<T> rows_of_q;
            load_rows(rows_of_q, block + 16 * i * kQueryStride + first + k, kQueryStride, lane);
            add_product(products[i], rows_of_q, key);
          }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      for (int i = 0; i < kBlocks; ++i) store_sums(products[i], scores + 16 * i * kScoreStride + 8 * simdgroup, kScoreStride, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup);

      // 4. Weights e^(score - maximum), rounded as they are multiplied; results of earlier tiles are rescaled to the new maximum.
      threadgroup const float* own_scores = scores + query * kScoreStride + first_key;
      const uint low = max(own_seen.low, begin), high = is_own ? min(own_seen.high, begin + kTileKeys) : 0;
      float maximum = total.maximum;
      for (uint i = 0; i < kThreadKeys; ++i) {
        const uint position = begin + first_key + i;
        if (position >= low && position < high) maximum = max(maximum, own_scores[i]);
      }
      for (ushort mask = 1; mask < kQueryThreads; mask *= 2) maximum = max(maximum, simd_shuffle_xor(maximum, mask));
      float sum = 0.0f;
      for (uint i = 0; i < kThreadKeys; ++i) {
        const uint position = begin + first_key + i;
        const bool is_seen = position >= low && position < high;
        const T weight = T(is_seen ? exponential(own_scores[i] - maximum) : 0.0f);
        weights[query * kWeightStride + first_key + i] = weight;
        sum += float(weight);
      }
      for (ushort mask = 1; mask < kQueryThreads; mask *= 2) sum += simd_shuffle_xor(sum, mask);
      const float scale = exponential(total.maximum - maximum);
      total = {maximum, fma(total.sum, scale, sum)};
      if (first_key == 0) scales[query * 8 + query % 8] = scale;

      // 5. Weighted values.
#pragma unroll
      for (int s = 0; s < slabs; ++s) {
        const uint first = s * kSlabColumns;
        if (first >= p.width) break;
        load_slab<Cache>(values, key_heads, seen_keys, first, p.width, slab, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (int i = 0; i < kBlocks; ++i) {
          // Most tiles do not change the maximum.
          if (simd_min(scales[(16 * i + lane % 16) * 8 + lane % 8]) >= 1.0f) continue;
          for (int j = 2 * s; j < 2 * s + 2; ++j) scale_rows(sums[i][j], scales + 128 * i, lane);
        }
        for (uint k = 0; k < kTileKeys; k += 16) {
          RowFragment<T> weight[kBlocks];
          for (int i = 0; i < kBlocks; ++i) load_rows(weight[i], weights + 16 * i * kWeightStride + k, kWeightStride, lane);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            if (first + 32 * j >= p.width) break;
            OutputFragment<T> value;
            load_outputs_transposed(value, slab + k * kSlabStride + 32 * j + 8 * simdgroup, kSlabStride, lane);
            for (int i = 0; i < kBlocks; ++i) add_product(sums[i][2 * s + j], weight[i], value);
          }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }

  // 6. Store 32 columns at a time through the threadgroup memory of the scores.
  const float factor = has_query ? 1.0f / total.sum : 0.0f;
#pragma unroll
  for (int j = 0; j < slabs * 2; ++j) {
    const uint first = 32 * j;
    if (first >= p.width) break;
    for (int i = 0; i < kBlocks; ++i) store_sums(sums[i][j], scores + 16 * i * kScoreStride + 8 * simdgroup, kScoreStride, lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; has_query && i < kThreadKeys && first + first_key + i < p.width; ++i) {
      out[ulong(own_row) * p.out_stride + own_head * p.width + first + first_key + i] = scores[query * kScoreStride + first_key + i] *
                                                                                        factor;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

#define MARKBASE_ATTENTION_TILE(name, Cache)                                                                                      \
  template [[host_name(                                                                                                           \
      "attention_tile_k64_" #name)]] kernel decltype(attention_tile<Cache, bfloat, 1, 32>) attention_tile<Cache, bfloat, 1, 32>;  \
  template [[host_name(                                                                                                           \
      "attention_tile_k128_" #name)]] kernel decltype(attention_tile<Cache, bfloat, 2, 32>) attention_tile<Cache, bfloat, 2, 32>; \
  template [[host_name(                                                                                                           \
      "attention_tile_k256_" #name)]] kernel decltype(attention_tile<Cache, bfloat, 4, 32>) attention_tile<Cache, bfloat, 4, 32>; \
  template [[host_name(                                                                                                           \
      "attention_tile_k512_" #name)]] kernel decltype(attention_tile<Cache, bfloat, 8, 16>) attention_tile<Cache, bfloat, 8, 16>;

MARKBASE_ATTENTION_TILE(f32, FloatCache)
MARKBASE_ATTENTION_TILE(bf16, Bf16Cache)
