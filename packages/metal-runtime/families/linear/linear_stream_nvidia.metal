/**
 * linear_stream: linear for up to eight rows on the tensor cores, in `fast`, for 4-bit codes in groups of 64 and a multiple of 256 columns.
 *
 * The outputs are divided evenly over the multiprocessors, one threadgroup each, and the columns of a threadgroup's outputs over its
 * simdgroups. Every simdgroup copies its weights into its own stages in threadgroup memory, several stages ahead, the first ones before the
 * step's inputs are ready.
 *
 * Products are of bytes: one instruction extracts four codes from a word, either the low halves of its bytes, or the high halves as 16 ×
 * code. Rows have two planes (packed_bytes.h), whose sums are exact integers; scales and biases are applied in float32 after every 64
 * columns. Weight rows are the rows of the products, 16 at a time. The 8 columns of a product are the planes of four rows, or of four
 * groups of columns of one row, so that one product covers all of them.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "linear_stream_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "nvidia/packed_rows.h"
#include "nvidia/packed_bytes.h"
#include "nvidia/bound_weights.h"
#include "linear_stream_nvidia.h"

/** A lane's operands for the products of a chunk: one plane of a row of every block; with one row, of the lane's own span, else zeros. */
template <uint rows>
struct StreamColumns {
  static constexpr uint blocks = (rows + 3) / 4;         ///< blocks of four rows
  static constexpr uint spans = rows == 1 ? 1 : kSpans;  ///< of a chunk, with separate products
  uint words[blocks][kPlaneWords];
  float steps[blocks][spans], totals[blocks][spans];  ///< of the row, or the span, whose sums the lane has; steps: a 16th of them

  template <typename X>
  StreamColumns(X, uint) {}

  template <typename X>
  void load(X x, uint chunk, uint lane) {
    const uint column = lane / 4, quarter = lane % 4, plane = column % 2 * kPlaneWords;
    const uint4 mask = uint4(rows != 1 || column / 2 == quarter ? 0xffffffffu : 0u);
#pragma unroll
    for (uint b = 0; b < blocks; ++b) {
      const uint row = rows == 1 ? 0 : 4 * b + column / 2, summed = rows == 1 ? 0 : 4 * b + quarter;
#pragma unroll
      for (uint i = 0; i < 4; ++i) {
        const uint span = chunk * kSpans + (rows == 1 ? quarter : i);
        const uint4 four = x.words_at(row, span * (2 * kPlaneWords) + plane + (rows == 1 ? i : quarter) * 4) & mask;
        words[b][4 * i] = four.x;
        words[b][4 * i + 1] = four.y;
        words[b][4 * i + 2] = four.z;
        words[b][4 * i + 3] = four.w;
      }
#pragma unroll
      for (uint s = 0; s < spans; ++s) {
        const uint span = chunk * kSpans + (rows == 1 ? quarter : s);
        steps[b][s] = x.step_of(summed, span) * 0.0625f;
        totals[b][s] = x.total_of(summed, span);
      }
    }
  }
};

/** Products of bytes, with 1, 4 or 8 rows. */
template <uint row_count>
struct ByteStream {
  static constexpr uint rows = row_count;
  using Columns = StreamColumns<rows>;
  /** Per lane and tile: for its two weight rows and one row of every block. */
  static constexpr uint sums = 2 * Columns::blocks;
  static constexpr uint parts = rows == 1 ? 4 : 1;
  static_assert(kLanes * sums == stream_share_floats(rows), "host and kernel disagree");

  /** sums += the products of a stage. */
  static void multiply(threadgroup const uchar* stage, thread const Columns& x, uint lane, thread float (&sums)[2 * Columns::blocks]) {
    constexpr uint blocks = Columns::blocks, spans = Columns::spans;
    const uint row = lane / 4, quarter = lane % 4;
    threadgroup const uchar* codes = stage + row * kRowBytes;
    threadgroup const uchar* scalars = stage + kStreamCodeBytes + row * (kSpans * 2);
    uint scale[2][2], bias[2][2];
#pragma unroll
    for (uint i = 0; i < 2; ++i) {
      if (rows == 1) {
        scale[i][0] = *(threadgroup const ushort*)(scalars + 8 * i * (kSpans * 2) + quarter * 2);
        bias[i][0] = *(threadgroup const ushort*)(scalars + kStreamScalarBytes + 8 * i * (kSpans * 2) + quarter * 2);
      } else {
        const uint2 own = *(threadgroup const uint2*)(scalars + 8 * i * (kSpans * 2));
        const uint2 own_biases = *(threadgroup const uint2*)(scalars + kStreamScalarBytes + 8 * i * (kSpans * 2));
        scale[i][0] = own.x, scale[i][1] = own.y;
        bias[i][0] = own_biases.x, bias[i][1] = own_biases.y;
      }
    }
#pragma unroll
    for (uint s = 0; s < spans; ++s) {
      // For the low and the high halves of bytes.
      int low[blocks][4] = {}, high[blocks][4] = {};
      uint words[2][4];
#pragma unroll
      for (uint i = 0; i < 4 / spans; ++i) {
#pragma unroll
        for (uint k = 0; k < 2; ++k) {
          threadgroup const uchar* own = codes + 8 * k * kRowBytes;
          if (rows == 1) {
            // One load returns the words of two products.
            if (i % 2 != 0) continue;
            const uint4 four = *(threadgroup const uint4*)(own + ((2 * quarter + i / 2) ^ piece_mask(row)) * 16);
            words[k][0] = four.x, words[k][1] = four.y, words[k][2] = four.z, words[k][3] = four.w;
          } else {
            const uint2 two = *(threadgroup const uint2*)(own + ((2 * s + quarter / 2) ^ piece_mask(row)) * 16 + quarter % 2 * 8);
            words[k][0] = two.x, words[k][1] = two.y;
          }
        }
        const uint first = i % 2 * 2, at = 4 * (rows == 1 ? i : s);
        uint weights[4], others[4];
#pragma unroll
        for (uint k = 0; k < 4; ++k) {
          weights[k] = words[k % 2][first + k / 2] & 0x0f0f0f0fu;
          others[k] = words[k % 2][first + k / 2] & 0xf0f0f0f0u;
        }
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
          const uint evens[2] = {x.words[b][at], x.words[b][at + 2]}, odds[2] = {x.words[b][at + 1], x.words[b][at + 3]};
          nvidia::multiply_accumulate_bytes(low[b], weights, evens);
          nvidia::multiply_accumulate_bytes(high[b], others, odds);
        }
      }
#pragma unroll
      for (uint k = 0; k < 2; ++k) {
        const float factor = bf16_of(scale[k][s / 2], s), offset = bf16_of(bias[k][s / 2], s);
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
          const int product = ((low[b][2 * k] << 8) + low[b][2 * k + 1]) * 16 + ((high[b][2 * k] << 8) + high[b][2 * k + 1]);
          sums[2 * b + k] = fma(factor * x.steps[b][s], float(product), fma(offset, x.totals[b][s], sums[2 * b + k]));
        }
      }
    }
  }

  /**
   * The product of a weight row of a tile with a row: the sum over the simdgroups, in their order; with one row, four adjacent lanes each
   * add a part, `part`, and all of them return the sum. `shares`: of the tile.
   */
  static float add_shares(threadgroup const float* shares, uint weight_row, uint row, uint part) {
    threadgroup const float* own = shares + (weight_row % 8 * 4 + (rows == 1 ? part : row % 4)) * sums + row / 4 * 2 + weight_row / 8;
    float total = own[0];
#pragma unroll
    for (uint i = 1; i < kSimdgroups; ++i) total += own[i * (kLanes * sums)];
    if (rows == 1) {
      total += simd_shuffle_xor(total, ushort(1));
      total += simd_shuffle_xor(total, ushort(2));
    }
    return total;
  }
};

/** launch.rows of `rows` rows, 1, 4 or 8. x: rows as DeviceBytes: one, or padded to eight. */
template <uint rows>
kernel void linear_stream(MARKBASE_CORES_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  threadgroup float* shares = (threadgroup float*)(memory + kSimdgroups * kStages * kStreamStageBytes);
  threadgroup uchar* stages = memory + thread_index / kLanes * (kStages * kStreamStageBytes);
  StreamCopier copier(StreamShare(p, at.x, groups.x, stream_tiles(rows)), bound, launch, p.in, thread_index);
  begin_copies(launch, stages, copier);
  nvidia::wait_for_inputs();
  multiply_share<ByteStream<rows>>(p, launch, operand, DeviceBytes<2>{(device uint*)x, p.in, rows == 1 ? 1u : 8u}, stages, shares,
                                   thread_index, copier);
}

/** One row, which every threadgroup packs for itself. */
kernel void linear_stream_row_q4(MARKBASE_CORES_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  threadgroup float partial[kSimdgroups];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  threadgroup float* shares = (threadgroup float*)(memory + kSimdgroups * kStages * kStreamStageBytes);
  threadgroup uchar* stages = memory + thread_index / kLanes * (kStages * kStreamStageBytes);
  const SharedBytes packed = {(threadgroup uint*)(shares + kSimdgroups * stream_tiles(1) * stream_share_floats(1)), p.in};
  StreamCopier copier(StreamShare(p, at.x, groups.x, stream_tiles(1)), bound, launch, p.in, thread_index);
  begin_copies(launch, stages, copier);
  nvidia::wait_for_inputs();
  const ulong row = p.gathers != 0 ? output_row[0] : 0;
  const PackSource prologue = {
      x + row * p.x_stride, residual + row * p.residual_stride, residual_gain + launch.shift[2], h, norm_gain + launch.shift[4], at.x == 0};
  pack_row<kThreads>(p, prologue, ByteWriter<SharedBytes>{packed}, partial, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  multiply_share<ByteStream<1>>(p, launch, operand, packed, stages, shares, thread_index, copier);
}

/** Packs rows for linear_stream, one threadgroup per row: two planes for up to eight rows, one for 16. */
template <uint planes>
kernel void linear_stream_pack(constant LinearParams& p [[buffer(0)]],
                               constant Launch& launch [[buffer(1)]],
                               device const float* x [[buffer(2)]],
                               device const float* residual [[buffer(3)]],
                               device const uchar* residual_gain [[buffer(4)]],
                               device float* h [[buffer(5)]],
                               device const uchar* norm_gain [[buffer(6)]],
                               device uint* packed [[buffer(22)]],
                               device const int* output_row [[buffer(24)]],
                               uint row [[threadgroup_position_in_grid]],
                               uint rows [[threadgroups_per_grid]],
                               uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[kSimdgroups];
  const ulong from = p.gathers != 0 && row < launch.rows ? output_row[row] : row;
  const PackSource source = {x + from * launch.x_stride,  residual + from * p.residual_stride, residual_gain + launch.shift[2],
                             h + ulong(row) * p.h_stride, norm_gain + launch.shift[4],         true};
  pack_bytes<planes, kThreads>(p, launch, source, {{packed, p.in, rows}, row}, partial, thread_index);
}

template [[host_name("linear_stream_pack")]] kernel decltype(linear_stream_pack<2>) linear_stream_pack<2>;
template [[host_name("linear_stream_pack16")]] kernel decltype(linear_stream_pack<1>) linear_stream_pack<1>;
template [[host_name("linear_stream1_q4")]] kernel decltype(linear_stream<1>) linear_stream<1>;
template [[host_name("linear_stream4_q4")]] kernel decltype(linear_stream<4>) linear_stream<4>;
template [[host_name("linear_stream8_q4")]] kernel decltype(linear_stream<8>) linear_stream<8>;
