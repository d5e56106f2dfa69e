/**
 * attention_wide: attention of many rows on the tensor cores, in `fast`, for heads of 256 or 512 columns and bf16 caches.
 *
 * A threadgroup takes a block of queries: several rows × the query heads of one kv head. It goes through chunks of 32 positions with a
 * running maximum; keys and values of the next chunk are copied to threadgroup memory while the current one is multiplied. A simdgroup has
 * 16 queries, most of them in registers, and the sums of 256 columns of values. For heads of 512 columns, two simdgroups share the queries:
 * each computes its half of the scores, and both weight them.
 *
 * Chunks begin at absolute multiples of 32 positions, and a chunk that a query does not see changes none of its bits: the bits of a row
 * depend neither on its neighbours nor on the number of queries in a block.
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

/** Positions of a chunk, and columns of a head per simdgroup; plan_wide.cc has the same constants. */
constant constexpr uint kChunk = 32;
constant constexpr uint kColumns = 256;

/** Products of 16 columns or positions, and of 8 outputs. */
constant constexpr uint kSteps = kColumns / 16;
constant constexpr uint kKeyBlocks = kChunk / 8;
constant constexpr uint kValueBlocks = kColumns / 8;

/** Maximum number of rows of a block, and the slot of rows beyond its end. */
constant constexpr uint kMostRows = 64;
constant constexpr int kNoSlot = 0x7fffffff;

/** The head of a query that does not exist. */
constant constexpr uint kNoHead = 0xffff;

/** log2 e. */
constant constexpr float kPowersOfE = 1.4426950408889634f;

/** The positions that the rows of a block see. */
struct BlockRows {
  threadgroup int* slots;
  threadgroup uint* lows;
  threadgroup uint* highs;
};

/** The rows of a block that belong to one slot, and the union of the positions that they see. */
struct SlotRows {
  int slot;
  uint low;
  uint high;
};

/** The rows of the lowest slot above `last`. */
inline SlotRows next_slot(BlockRows rows, int last, uint lane) {
  const int slots[2] = {rows.slots[lane], rows.slots[lane + kLanes]};
  int next = kNoSlot;
#pragma unroll
  for (uint i = 0; i < 2; ++i) next = min(next, slots[i] > last ? slots[i] : kNoSlot);
  next = simd_min(next);
  uint low = 0xffffffffu, high = 0;
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    if (slots[i] != next) continue;
    low = min(low, rows.lows[lane + i * kLanes]);
    high = max(high, rows.highs[lane + i * kLanes]);
  }
  return {next, simd_min(low), simd_max(high)};
}

/** Source of a thread's copies: 16 bytes of every `step`-th position, from the thread's first one on. */
template <uint width, uint step>
struct ChunkSource {
  static constexpr uint row_bytes = 2 * width;
  static constexpr uint half_bytes = kChunk * row_bytes;  ///< keys of a chunk, or values

  device const uchar* keys;
  device const uchar* values;
  CacheTable table;
  uint offset;     ///< of the thread's 16 bytes in a position, in bytes
  uint stride;     ///< bytes per position
  uint low, high;  ///< positions that may be read
  uint first;      ///< first position in a chunk that the thread copies, below `step`
  uint piece;      ///< index of the 16 bytes in the position

  /** Positions that no row sees are replaced by visible ones. A chunk is one block of the cache, at row `place`. */
  void copy(threadgroup uchar* stage, uint begin, uint place) const {
    const int least = int(max(low, begin) - begin), last = int(min(high - begin, kChunk) - 1);
    threadgroup uchar* to = stage + first * row_bytes;
#pragma unroll
    for (uint i = 0; i < kChunk / step; ++i) {
      const ulong from = ulong(place + uint(min(max(int(first + i * step), least), last))) * stride + offset;
      // Adjacent positions begin in different banks.
      threadgroup uchar* at = to + i * step * row_bytes + (piece ^ first ^ i * step % 8) * 16;
      nvidia::copy_16(at, keys + from);
      nvidia::copy_16(at + half_bytes, values + from);
    }
  }
};

/** `blocks`: of 16 queries. */
template <uint width, uint blocks>
kernel void attention_wide(constant AttentionParams& p [[buffer(0)]],
                           constant Launch& launch [[buffer(1)]],
                           device const float* q [[buffer(2)]],
                           device const uchar* keys [[buffer(3)]],
                           device const uchar* values [[buffer(4)]],
                           device float* out [[buffer(5)]],
                           device const int* positions [[buffer(24)]],
                           device const int* slots [[buffer(25)]],
                           device const int* visible_ends [[buffer(26)]],
                           device const int* tables [[buffer(27)]],
                           threadgroup uchar* memory [[threadgroup(0)]],
                           uint2 at [[threadgroup_position_in_grid]],
                           uint2 grid [[threadgroups_per_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint kParts = width / kColumns, kQueries = 16 * blocks, kThreads = blocks * kParts * kLanes;
  constexpr uint kPieces = width / 8;
  // Steps whose queries are kept in registers; there are not enough registers for the last ones.
  constexpr uint kHeldSteps = kSteps - (kParts == 1 ? 6 : 9);
  using Source = ChunkSource<width, kThreads / kPieces>;
  constexpr uint kStageBytes = 2 * Source::half_bytes;
  threadgroup int row_slots[kMostRows];
  threadgroup uint row_lows[kMostRows], row_highs[kMostRows];
  threadgroup uint4 last_steps[blocks * kParts * (kSteps - kHeldSteps) * kLanes];
  threadgroup uint query_places[kQueries];  ///< row of the block and head of each query
  threadgroup uint2 query_seen[kQueries];   ///< first position, and number of positions, of the slot in progress
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint part = simdgroup % kParts;
  const uint group_heads = p.heads / p.kv_heads;
  const uint heads = min(group_heads, kQueries);
  const uint head_tiles = (group_heads + heads - 1) / heads;
  const uint g = at.y / head_tiles, first_head = g * group_heads + at.y % head_tiles * heads;
  const uint block_rows = kQueries / heads;
  // The last rows see the most positions, so they start first.
  const uint first_row = (grid.x - 1 - at.x) * block_rows, end_row = min(first_row + block_rows, launch.rows);

  // 1. The positions that the rows of the block see, and the lane's two queries; missing queries are duplicates that are not stored.
  for (uint i = thread_index; i < kMostRows; i += kThreads) {
    const uint row = min(first_row + i, end_row - 1);
    const Visible seen = visible_positions(p.window, positions[row], visible_ends[row]);
    row_slots[i] = first_row + i < end_row ? slots[row] : kNoSlot;
    row_lows[i] = seen.low;
    row_highs[i] = seen.high;
  }
  for (uint i = thread_index; i < kQueries; i += kThreads) {
    const uint row = i / heads, head = first_head + i % heads;
    query_places[i] = row << 16 | (row < end_row - first_row && head < (g + 1) * group_heads ? head : kNoHead);
  }
  const uint first_query = simdgroup / kParts * 16 + lane / 4;
  uint query[kSteps][4];
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    const uint index = first_query + i * 8;
    const uint row = min(first_row + index / heads, end_row - 1), head = min(first_head + index % heads, (g + 1) * group_heads - 1);
    device const float* from = q + ulong(row) * launch.x_stride + head * width + part * kColumns + lane % 4 * 2;
#pragma unroll
    for (uint k = 0; k < kSteps; ++k) {
      const float2 left = *(device const float2*)(from + 16 * k), right = *(device const float2*)(from + 16 * k + 8);
      query[k][i] = nvidia::bf16_pair(left.x, left.y);
      query[k][2 + i] = nvidia::bf16_pair(right.x, right.y);
    }
  }
  threadgroup uint4* stored = last_steps + simdgroup * (kSteps - kHeldSteps) * kLanes + lane;
#pragma unroll
  for (uint k = kHeldSteps; k < kSteps; ++k) {
    stored[(k - kHeldSteps) * kLanes] = uint4(query[k][0], query[k][1], query[k][2], query[k][3]);
  }
  float sums[kValueBlocks][4];
#pragma unroll
  for (uint c = 0; c < kValueBlocks; ++c) {
#pragma unroll
    for (uint j = 0; j < 4; ++j) sums[c][j] = 0.0f;
  }
  // The lane's share of the weights of its queries.
  Softmax total[2] = {{kLowest, 0.0f}, {kLowest, 0.0f}};
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const BlockRows rows = {row_slots, row_lows, row_highs};
  Source source;
  source.keys = keys;
  source.values = values;
  source.stride = p.kv_heads * Source::row_bytes;
  source.first = thread_index / kPieces;
  source.piece = thread_index % kPieces;
  source.offset = g * Source::row_bytes + source.piece * 16;
  for (SlotRows run = next_slot(rows, -1, lane); run.slot != kNoSlot; run = next_slot(rows, run.slot, lane)) {
    source.table = cache_table(tables, run.slot, p.cache_kind);
    source.low = run.low;
    source.high = run.high;
    for (uint i = thread_index; i < kQueries; i += kThreads) {
      const uint row = query_places[i] >> 16;
      query_seen[i] = uint2(row_lows[row], row_slots[row] == run.slot ? row_highs[row] - row_lows[row] : 0);
    }
    uint begin = run.low / kChunk * kChunk, stage = 0;
    source.copy(memory, begin, source.table.block(begin));
    // The place of the next chunk is looked up one chunk ahead.
    uint next_place = source.table.block(min(begin + kChunk, run.high - 1));
    nvidia::end_copies();
    for (; begin < run.high; begin += kChunk) {
      nvidia::wait_copies<0>();
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (begin + kChunk < run.high) source.copy(memory + (kStageBytes - stage), begin + kChunk, next_place);
      next_place = source.table.block(min(begin + 2 * kChunk, run.high - 1));
      nvidia::end_copies();

      // 2. Scores over the columns of the simdgroup: of every eight positions, a lane has the scores of two, for both queries.
      float scores[kKeyBlocks][4];
#pragma unroll
      for (uint n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
        for (uint j = 0; j < 4; ++j) scores[n][j] = 0.0f;
      }
      threadgroup const uchar* key = memory + stage + (lane / 16 * 8 + lane % 8) * Source::row_bytes + part * (2 * kColumns);
#pragma unroll
      for (uint k = 0; k < kSteps; ++k) {
        if (k >= kHeldSteps) {
          const uint4 words = stored[(k - kHeldSteps) * kLanes];
#pragma unroll
          for (uint j = 0; j < 4; ++j) query[k][j] = words[j];
        }
        const uint piece = 2 * k / 8 * 8 + ((2 * k % 8 + lane / 8 % 2) ^ (lane % 8));
#pragma unroll
        for (uint n = 0; n < kKeyBlocks; n += 2) {
          uint pairs[4];
          nvidia::load_matrix(pairs, key + n * 8 * Source::row_bytes + piece * 16);
          const uint left[2] = {pairs[0], pairs[1]}, right[2] = {pairs[2], pairs[3]};
          nvidia::multiply_accumulate(scores[n], query[k], left);
          nvidia::multiply_accumulate(scores[n + 1], query[k], right);
        }
      }
      if (kParts == 2) {
        threadgroup float4* parts = (threadgroup float4*)(memory + 2 * kStageBytes) + lane;
#pragma unroll
        for (uint n = 0; n < kKeyBlocks; ++n) {
          parts[(simdgroup * kKeyBlocks + n) * kLanes] = float4(scores[n][0], scores[n][1], scores[n][2], scores[n][3]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint n = 0; n < kKeyBlocks; ++n) {
          const float4 other = parts[((simdgroup ^ 1) * kKeyBlocks + n) * kLanes];
#pragma unroll
          for (uint j = 0; j < 4; ++j) scores[n][j] += other[j];
        }
      }

      // 3. Weights e^(score - maximum), rounded as they are multiplied; results of earlier chunks are rescaled to the new maximum.
      float base[2], scale[2];
#pragma unroll
      for (uint i = 0; i < 2; ++i) {
        float most = total[i].maximum;
        const uint2 seen = query_seen[first_query + i * 8];
        const uint offset = begin + lane % 4 * 2 - seen.x;
#pragma unroll
        for (uint n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
          for (uint j = 0; j < 2; ++j) {
            thread float& score = scores[n][2 * i + j];
            score = offset + n * 8 + j < seen.y ? score : kLowest;
            most = max(most, score);
          }
        }
        most = max(most, simd_shuffle_xor(most, ushort(1)));
        most = max(most, simd_shuffle_xor(most, ushort(2)));
        // While a query has seen no position, all of its weights are zero.
        base[i] = most == kLowest ? 0.0f : most;
        scale[i] = nvidia::exponential_of_two((total[i].maximum - base[i]) * kPowersOfE);
        total[i] = {most, total[i].sum * scale[i]};
      }
      uint weights[kKeyBlocks][2];
#pragma unroll
      for (uint n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
        for (uint i = 0; i < 2; ++i) {
          const float first = nvidia::exponential_of_two((scores[n][2 * i] - base[i]) * kPowersOfE);
          const float second = nvidia::exponential_of_two((scores[n][2 * i + 1] - base[i]) * kPowersOfE);
          weights[n][i] = nvidia::bf16_pair(first, second);
          total[i].sum += as_type<float>(weights[n][i] << 16) + as_type<float>(weights[n][i] & 0xffff0000u);
        }
      }

      // 4. Weighted values.
#pragma unroll
      for (uint c = 0; c < kValueBlocks; ++c) {
#pragma unroll
        for (uint j = 0; j < 4; ++j) sums[c][j] *= scale[j / 2];
      }
      threadgroup const uchar* value = memory + stage + Source::half_bytes + lane % 16 * Source::row_bytes + part * (2 * kColumns);
#pragma unroll
      for (uint n = 0; n < kKeyBlocks; n += 2) {
        const uint rows_of_weights[4] = {weights[n][0], weights[n][1], weights[n + 1][0], weights[n + 1][1]};
#pragma unroll
        for (uint c = 0; c < kValueBlocks; c += 2) {
          const uint piece = c / 8 * 8 + ((c % 8 + lane / 16) ^ (lane % 8));
          uint pairs[4];
          nvidia::load_matrix_transposed(pairs, value + n * 8 * Source::row_bytes + piece * 16);
          const uint left[2] = {pairs[0], pairs[1]}, right[2] = {pairs[2], pairs[3]};
          nvidia::multiply_accumulate(sums[c], rows_of_weights, left);
          nvidia::multiply_accumulate(sums[c + 1], rows_of_weights, right);
        }
      }
      stage = kStageBytes - stage;
    }
    // The next slot begins with the first stage, which may still be in use.
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    float sum = total[i].sum;
    sum += simd_shuffle_xor(sum, ushort(1));
    sum += simd_shuffle_xor(sum, ushort(2));
    const float factor = 1.0f / sum;
    // Read again: there are not enough registers to keep it during the products.
    const uint query_place = query_places[first_query + i * 8], head = query_place & 0xffff;
    if (head == kNoHead) continue;
    device float* to = out + ulong(first_row + (query_place >> 16)) * p.out_stride + head * width + part * kColumns + lane % 4 * 2;
#pragma unroll
    for (uint c = 0; c < kValueBlocks; ++c) {
      *(device float2*)(to + 8 * c) = float2(sums[c][2 * i] * factor, sums[c][2 * i + 1] * factor);
    }
  }
}

#define MARKBASE_ATTENTION_WIDE(width)                                                                                    \
  template [[host_name("attention_wide32_k" #width)]] kernel decltype(attention_wide<width, 2>) attention_wide<width, 2>; \
  template [[host_name("attention_wide64_k" #width)]] kernel decltype(attention_wide<width, 4>) attention_wide<width, 4>;

MARKBASE_ATTENTION_WIDE(256)
MARKBASE_ATTENTION_WIDE(512)
