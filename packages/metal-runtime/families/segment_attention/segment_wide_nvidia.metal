/**
 * segment_wide: segment_attention of many rows on the tensor cores, in `fast`, for the head widths of the released towers.
 *
 * segment_wide_prepare computes the operands: heads of q, k and v in bf16, normalised and rotated like segment_prepare. Then a threadgroup
 * of four simdgroups takes a block of queries of one head through all rows of its segments, 64 at a time; the rows of the next stage are
 * copied to threadgroup memory while the current one is multiplied. A simdgroup has 16 or 32 queries, which stay in registers with their
 * scores and their sums.
 *
 * Stages begin at the first row of a segment, and rows of another segment, if they are finite, change no bit of a query's result: the bits
 * of a row depend neither on its neighbours nor on the number of queries in a block.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "scalar_type.h"
#include "segment_attention_params.h"
#include "metal_storage.h"
#include "metal_math.h"

/** Simdgroups of a block; plan_wide.cc has this constant and the rows of a stage. */
constant constexpr uint kSimdgroups = 4;
constant constexpr uint kThreads = kSimdgroups * kLanes;

/** Rows that are copied to threadgroup memory together, and that are weighted with one maximum. */
constant constexpr uint kStage = 64;
constant constexpr uint kChunk = 32;
constant constexpr uint kKeyBlocks = kChunk / 8;

/** Rows of which a simdgroup prepares one head each. */
constant constexpr uint kPreparedRows = 4;

/** log2 e. */
constant constexpr float kPowersOfE = 1.4426950408889634f;

/** How far scores may exceed the base of the weights: weights stay below e^5, and most chunks rescale no sums. */
constant constexpr float kMargin = 5.0f;

/** Two bf16 ones. */
constant constexpr uint kOnes = 0x3f803f80;

template <uint width>
kernel void segment_wide_prepare(constant SegmentAttentionParams& p [[buffer(0)]],
                                 constant Launch& launch [[buffer(1)]],
                                 device const float* q [[buffer(2)]],
                                 device const float* k [[buffer(3)]],
                                 device const float* v [[buffer(4)]],
                                 device const uchar* q_gain [[buffer(6)]],
                                 device const uchar* k_gain [[buffer(7)]],
                                 device const float* table [[buffer(8)]],
                                 device uint* queries [[buffer(21)]],
                                 device uint* keys [[buffer(22)]],
                                 device uint* values [[buffer(23)]],
                                 uint2 at [[threadgroup_position_in_grid]],
                                 uint thread_index [[thread_index_in_threadgroup]]) {
  // A lane has columns 2 lane and 2 lane + 1, and for heads with more than 64 columns those 64 further on.
  constexpr uint kTurns = (width / 2 + kLanes - 1) / kLanes;
  threadgroup float2 normed[kRowSimdgroups * kPreparedRows * width / 2];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint task = at.x * kRowSimdgroups + simdgroup, first_row = at.y * kPreparedRows;
  if (task >= p.heads + 2 * p.kv_heads) return;
  const bool is_query = task < p.heads, is_value = task >= p.heads + p.kv_heads, is_raw = p.has_prepare == 0;
  const uint index = is_query ? task : (task - p.heads) % p.kv_heads, count = is_query ? p.heads : p.kv_heads;
  const uint stride = is_query ? p.q_stride : is_value ? p.v_stride : p.k_stride;
  device const float* raw = (is_query ? q : is_value ? v : k) + index * width;
  device const uchar* gains = is_query ? q_gain + launch.shift[4] : k_gain + launch.shift[5];
  const uint gain_type = is_query ? p.q_gain_type : p.k_gain_type;
  const bool is_turned = !is_raw && !is_value;
  const uint part_width = width / p.axes, pairs = part_width / 2;

  float2 own[kPreparedRows][kTurns], cosine[kPreparedRows][kTurns], sine[kPreparedRows][kTurns], gain[kTurns];
#pragma unroll
  for (uint t = 0; t < kTurns; ++t) {
    const uint column = min(2 * (lane + t * kLanes), width - 2);
    const uint place = column / part_width * part_width + column % pairs;
    gain[t] = float2(1.0f);
    if (is_turned) {
      ScalarBits bits[2];
      bits[0].load(gains, gain_type, column);
      bits[1].load(gains, gain_type, column + 1);
      gain[t] = float2(bits[0].number(gain_type), bits[1].number(gain_type));
    }
#pragma unroll
    for (uint r = 0; r < kPreparedRows; ++r) {
      const ulong row = min(first_row + r, launch.rows - 1);
      own[r][t] = *(device const float2*)(raw + row * stride + column);
      cosine[r][t] = sine[r][t] = float2(0.0f);
      if (!is_turned) continue;
      cosine[r][t] = *(device const float2*)(table + row * width + place);
      sine[r][t] = *(device const float2*)(table + row * width + place + pairs);
    }
  }
  threadgroup float2* shared = normed + simdgroup * kPreparedRows * width / 2;
  if (!is_raw) {
#pragma unroll
    for (uint r = 0; r < kPreparedRows; ++r) {
      float squares = 0.0f;
#pragma unroll
      for (uint t = 0; t < kTurns; ++t) {
        const float2 value = lane + t * kLanes < width / 2 ? own[r][t] : float2(0.0f);
        squares = fma(value.x, value.x, fma(value.y, value.y, squares));
      }
      const float factor = norm_factor(simd_sum(squares), width, p.eps);
#pragma unroll
      for (uint t = 0; t < kTurns; ++t) {
        own[r][t] = own[r][t] * factor * gain[t];
        if (lane + t * kLanes < width / 2) shared[r * width / 2 + lane + t * kLanes] = own[r][t];
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  device uint* to = (is_query ? queries : is_value ? values : keys) + index * (width / 2);
#pragma unroll
  for (uint t = 0; t < kTurns; ++t) {
    const uint pair = lane + t * kLanes;
    if (pair >= width / 2) break;
    const bool is_first = 2 * pair % part_width < pairs;
#pragma unroll
    for (uint r = 0; r < kPreparedRows; ++r) {
      float2 value = own[r][t];
      if (is_turned) {
        const float2 other = shared[r * width / 2 + (is_first ? pair + pairs / 2 : pair - pairs / 2)];
        value = is_first ? value * cosine[r][t] - other * sine[r][t] : value * cosine[r][t] + other * sine[r][t];
      }
      if (first_row + r < launch.rows) to[ulong(first_row + r) * (count * (width / 2)) + pair] = nvidia::bf16_pair(value.x, value.y);
    }
  }
}

/** Offset of 16 bytes of a row in a stage, chosen so that adjacent rows begin in different banks. */
template <uint width>
inline uint place_of(uint row, uint piece) {
  // Rows of 72 columns do so without a permutation.
  return row * (2 * width) + (width == 64 ? piece ^ row % 8 : piece) * 16;
}

/** Keys and values of one head in a segment. */
template <uint width>
struct SegmentSource {
  static constexpr uint pieces = width / 8;
  static constexpr uint half_bytes = kStage * 2 * width;  ///< keys of a stage, or values

  device const uchar* keys;  ///< of the segment's first row
  device const uchar* values;
  ulong stride;  ///< bytes of a row
  uint length;   ///< of the segment

  /** Beyond the end, the last row is repeated with a weight of zero. */
  void copy(threadgroup uchar* stage, uint first, uint thread_index) const {
    constexpr uint all = kStage * pieces;
#pragma unroll
    for (uint i = 0; i < (all + kThreads - 1) / kThreads; ++i) {
      const uint task = thread_index + i * kThreads;
      if ((i + 1) * kThreads > all && task >= all) break;
      const uint row = task / pieces, piece = task % pieces;
      const ulong from = min(first + row, length - 1) * stride + piece * 16;
      threadgroup uchar* to = stage + place_of<width>(row, piece);
      nvidia::copy_16(to, keys + from);
      nvidia::copy_16(to + half_bytes, values + from);
    }
  }
};

/** `blocks`: blocks of 16 queries per simdgroup. */
template <uint width, uint blocks>
kernel void segment_wide(constant SegmentAttentionParams& p [[buffer(0)]],
                         constant Launch& launch [[buffer(1)]],
                         device float* out [[buffer(5)]],
                         device const uint* queries [[buffer(21)]],
                         device const uchar* keys [[buffer(22)]],
                         device const uchar* values [[buffer(23)]],
                         device const int* positions [[buffer(24)]],
                         device const int* visible_ends [[buffer(26)]],
                         threadgroup uchar* memory [[threadgroup(0)]],
                         uint2 at [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]]) {
  using Source = SegmentSource<width>;
  constexpr uint kSteps = (width + 15) / 16, kValueBlocks = width / 8, kStageBytes = 2 * Source::half_bytes;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint head = at.y, g = head / (p.heads / p.kv_heads);
  const uint first_row = at.x * (kSimdgroups * 16 * blocks), end_row = min(first_row + kSimdgroups * 16 * blocks, launch.rows);
  // The lane has queries own_row + 16 b + 8 i; missing queries are duplicates that are not stored.
  const uint own_row = first_row + simdgroup * 16 * blocks + lane / 4;
  uint query[blocks][kSteps][4];
  float sums[blocks][kValueBlocks][4], weight_sums[blocks][4], base[blocks][2];
#pragma unroll
  for (uint b = 0; b < blocks; ++b) {
#pragma unroll
    for (uint i = 0; i < 2; ++i) {
      const ulong row = min(own_row + 16 * b + 8 * i, end_row - 1);
      device const uint* from = queries + (row * p.heads + head) * (width / 2) + lane % 4;
#pragma unroll
      for (uint k = 0; k < kSteps; ++k) {
        query[b][k][i] = from[8 * k];
        query[b][k][2 + i] = 16 * k + 8 < width ? from[16 * k + 8 < width ? 8 * k + 4 : 0] : 0;
      }
      base[b][i] = kLowest;
    }
#pragma unroll
    for (uint j = 0; j < 4; ++j) {
      weight_sums[b][j] = 0.0f;
#pragma unroll
      for (uint c = 0; c < kValueBlocks; ++c) sums[b][c][j] = 0.0f;
    }
  }

  for (uint row = first_row; row < end_row;) {
    const uint begin = row - uint(positions[row]), length = uint(visible_ends[row]) + 1, end = begin + length;
    const bool is_whole = row == first_row && end >= end_row;
    row = end;
    uint seen[blocks][2];
#pragma unroll
    for (uint b = 0; b < blocks; ++b) {
#pragma unroll
      for (uint i = 0; i < 2; ++i) seen[b][i] = own_row + 16 * b + 8 * i - begin < length ? length : 0;
    }
    const ulong stride = p.kv_heads * (2 * width), offset = begin * stride + g * (2 * width);
    const Source source = {keys + offset, values + offset, stride, length};
    uint stage = 0;
    source.copy(memory, 0, thread_index);
    nvidia::end_copies();
    for (uint first = 0; first < length; first += kStage) {
      nvidia::wait_copies<0>();
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (first + kStage < length) source.copy(memory + (kStageBytes - stage), first + kStage, thread_index);
      nvidia::end_copies();
#pragma unroll 1
      for (uint chunk = 0; chunk < kStage; chunk += kChunk) {
        if (first + chunk >= length) break;
        threadgroup const uchar* tile = memory + stage + chunk * (2 * width);

        // 1. Scores: of every eight rows, a lane has the scores of two.
        float scores[blocks][kKeyBlocks][4];
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
#pragma unroll
          for (uint n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
            for (uint j = 0; j < 4; ++j) scores[b][n][j] = 0.0f;
          }
        }
#pragma unroll
        for (uint k = 0; k < kSteps; ++k) {
          // Beyond the last column, queries are zero, so any key will do.
          const uint piece = min(2 * k + lane / 8 % 2, Source::pieces - 1);
#pragma unroll
          for (uint n = 0; n < kKeyBlocks; n += 2) {
            uint pairs[4];
            nvidia::load_matrix(pairs, tile + place_of<width>(n * 8 + lane / 16 * 8 + lane % 8, piece));
            const uint left[2] = {pairs[0], pairs[1]}, right[2] = {pairs[2], pairs[3]};
#pragma unroll
            for (uint b = 0; b < blocks; ++b) {
              nvidia::multiply_accumulate(scores[b][n], query[b][k], left);
              nvidia::multiply_accumulate(scores[b][n + 1], query[b][k], right);
            }
          }
        }
        if (!is_whole || first + chunk + kChunk > length) {
#pragma unroll
          for (uint b = 0; b < blocks; ++b) {
#pragma unroll
            for (uint n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
              for (uint j = 0; j < 4; ++j) {
                const bool is_seen = first + chunk + lane % 4 * 2 + n * 8 + j % 2 < seen[b][j / 2];
                scores[b][n][j] = is_seen ? scores[b][n][j] : kLowest;
              }
            }
          }
        }

        // 2. Weights e^(score - base), rounded as they are multiplied. A new base rescales the results of earlier chunks.
        float scale[blocks][2];
        bool is_scaled = false;
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
#pragma unroll
          for (uint i = 0; i < 2; ++i) {
            float most = kLowest;
#pragma unroll
            for (uint n = 0; n < kKeyBlocks; ++n) most = max(most, max(scores[b][n][2 * i], scores[b][n][2 * i + 1]));
            most = max(most, simd_shuffle_xor(most, ushort(1)));
            most = max(most, simd_shuffle_xor(most, ushort(2)));
            const float next = most > base[b][i] + kMargin ? most : base[b][i];
            scale[b][i] = nvidia::exponential_of_two((base[b][i] - next) * kPowersOfE);
            is_scaled = is_scaled || next > base[b][i];
            base[b][i] = next;
          }
        }
        if (simd_any(is_scaled)) {
#pragma unroll
          for (uint b = 0; b < blocks; ++b) {
#pragma unroll
            for (uint j = 0; j < 4; ++j) {
              weight_sums[b][j] *= scale[b][j / 2];
#pragma unroll
              for (uint c = 0; c < kValueBlocks; ++c) sums[b][c][j] *= scale[b][j / 2];
            }
          }
        }
        uint weights[blocks][kKeyBlocks][2];
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
#pragma unroll
          for (uint i = 0; i < 2; ++i) {
            // While a query has seen no row, all of its weights are zero.
            const float shift = base[b][i] == kLowest ? 0.0f : -base[b][i] * kPowersOfE;
#pragma unroll
            for (uint n = 0; n < kKeyBlocks; ++n) {
              weights[b][n][i] = nvidia::bf16_pair(nvidia::exponential_of_two(fma(scores[b][n][2 * i], kPowersOfE, shift)),
                                                   nvidia::exponential_of_two(fma(scores[b][n][2 * i + 1], kPowersOfE, shift)));
            }
          }
        }

        // 3. Weighted values, and the weights themselves: values of 1.
#pragma unroll
        for (uint n = 0; n < kKeyBlocks; n += 2) {
          uint own[blocks][4];
          const uint ones[2] = {kOnes, kOnes};
#pragma unroll
          for (uint b = 0; b < blocks; ++b) {
#pragma unroll
            for (uint i = 0; i < 4; ++i) own[b][i] = weights[b][n + i / 2][i % 2];
            nvidia::multiply_accumulate(weight_sums[b], own[b], ones);
          }
#pragma unroll
          for (uint c = 0; c < kValueBlocks; c += 2) {
            uint pairs[4];
            const uint piece = min(c + lane / 16, Source::pieces - 1);
            nvidia::load_matrix_transposed(pairs, tile + Source::half_bytes + place_of<width>(n * 8 + lane % 16, piece));
            const uint left[2] = {pairs[0], pairs[1]}, right[2] = {pairs[2], pairs[3]};
#pragma unroll
            for (uint b = 0; b < blocks; ++b) {
              nvidia::multiply_accumulate(sums[b][c], own[b], left);
              if (c + 1 < kValueBlocks) nvidia::multiply_accumulate(sums[b][min(c + 1, kValueBlocks - 1)], own[b], right);
            }
          }
        }
      }
      stage = kStageBytes - stage;
    }
    // The next segment begins with the first stage, which may still be in use.
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

#pragma unroll
  for (uint b = 0; b < blocks; ++b) {
#pragma unroll
    for (uint i = 0; i < 2; ++i) {
      const uint row = own_row + 16 * b + 8 * i;
      if (row >= end_row) continue;
      const float factor = 1.0f / weight_sums[b][2 * i];
      device float* to = out + ulong(row) * p.out_stride + head * width + lane % 4 * 2;
#pragma unroll
      for (uint c = 0; c < kValueBlocks; ++c) {
        *(device float2*)(to + 8 * c) = float2(sums[b][c][2 * i] * factor, sums[b][c][2 * i + 1] * factor);
      }
    }
  }
}

#define MARKBASE_SEGMENT_WIDE(width)                                                                                                \
  template [[host_name("segment_wide_prepare_k" #width)]] kernel decltype(segment_wide_prepare<width>) segment_wide_prepare<width>; \
  template [[host_name("segment_wide64_k" #width)]] kernel decltype(segment_wide<width, 1>) segment_wide<width, 1>;                 \
  template [[host_name("segment_wide128_k" #width)]] kernel decltype(segment_wide<width, 2>) segment_wide<width, 2>;

MARKBASE_SEGMENT_WIDE(64)
MARKBASE_SEGMENT_WIDE(72)
