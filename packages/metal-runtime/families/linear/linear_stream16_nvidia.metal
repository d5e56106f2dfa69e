/**
 * linear_stream16: linear_stream for 9 to 16 rows, with one plane of bytes: two planes would need too many registers.
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

/** Sixteen packed rows, and a simdgroup's buffer for their steps and sums of a chunk: [4, 16] each. */
struct StreamPack {
  DeviceBytes<1> pack;
  threadgroup float* numbers;
};

struct PlaneStream {
  static constexpr uint rows = 16, blocks = 2;  ///< blocks of eight rows
  /** Per lane and tile: for its two weight rows and two rows of every block. */
  static constexpr uint sums = 4 * blocks;
  static constexpr uint parts = 1;
  static_assert(kLanes * sums == stream_share_floats(rows), "host and kernel disagree");

  struct Columns {
    uint4 words[blocks][kSpans];
    threadgroup const float2* numbers;  ///< of the lane's rows: 16ths of steps at 8 s + 4 b, then sums

    Columns(StreamPack x, uint lane) : numbers((threadgroup const float2*)x.numbers + lane % 4) {}

    void load(StreamPack x, uint chunk, uint lane) {
      // All lanes have read the values of the previous chunk.
      simdgroup_barrier(mem_flags::mem_threadgroup);
      ((threadgroup float2*)x.numbers)[lane] = ((device const float2*)x.pack.steps())[chunk * kLanes + lane] * 0.0625f;
      ((threadgroup float2*)x.numbers)[kLanes + lane] = ((device const float2*)x.pack.totals())[chunk * kLanes + lane];
#pragma unroll
      for (uint b = 0; b < blocks; ++b) {
#pragma unroll
        for (uint s = 0; s < kSpans; ++s) {
          words[b][s] = x.pack.words_at(8 * b + lane / 4, (chunk * kSpans + s) * kPlaneWords + lane % 4 * 4);
        }
      }
    }
  };

  /** sums += the products of a stage. */
  static void multiply(threadgroup const uchar* stage, thread const Columns& x, uint lane, thread float (&sums)[4 * blocks]) {
    const uint row = lane / 4, quarter = lane % 4;
    threadgroup const uchar* codes = stage + row * kRowBytes;
    threadgroup const uchar* scalars = stage + kStreamCodeBytes + row * (kSpans * 2);
    uint2 scale[2], bias[2];
#pragma unroll
    for (uint k = 0; k < 2; ++k) {
      scale[k] = *(threadgroup const uint2*)(scalars + 8 * k * (kSpans * 2));
      bias[k] = *(threadgroup const uint2*)(scalars + kStreamScalarBytes + 8 * k * (kSpans * 2));
    }
#pragma unroll
    for (uint s = 0; s < kSpans; ++s) {
      threadgroup const uchar* own = codes + ((2 * s + quarter / 2) ^ piece_mask(row)) * 16 + quarter % 2 * 8;
      const uint2 first = *(threadgroup const uint2*)own, second = *(threadgroup const uint2*)(own + 8 * kRowBytes);
      const uint weights[4] = {first.x & 0x0f0f0f0fu, second.x & 0x0f0f0f0fu, first.y & 0x0f0f0f0fu, second.y & 0x0f0f0f0fu};
      const uint others[4] = {first.x & 0xf0f0f0f0u, second.x & 0xf0f0f0f0u, first.y & 0xf0f0f0f0u, second.y & 0xf0f0f0f0u};
#pragma unroll
      for (uint b = 0; b < blocks; ++b) {
        // For the low and the high halves of bytes.
        int low[4] = {}, high[4] = {};
        const uint evens[2] = {x.words[b][s].x, x.words[b][s].z}, odds[2] = {x.words[b][s].y, x.words[b][s].w};
        nvidia::multiply_accumulate_bytes(low, weights, evens);
        nvidia::multiply_accumulate_bytes(high, others, odds);
        const float2 step = x.numbers[8 * s + 4 * b], total = x.numbers[kLanes + 8 * s + 4 * b];
#pragma unroll
        for (uint k = 0; k < 2; ++k) {
          const float factor = bf16_of(s < 2 ? scale[k].x : scale[k].y, s), offset = bf16_of(s < 2 ? bias[k].x : bias[k].y, s);
          const uint at = 4 * b + 2 * k;
          sums[at] = fma(factor * step.x, float(low[2 * k] * 16 + high[2 * k]), fma(offset, total.x, sums[at]));
          sums[at + 1] = fma(factor * step.y, float(low[2 * k + 1] * 16 + high[2 * k + 1]), fma(offset, total.y, sums[at + 1]));
        }
      }
    }
  }

  /** The product of a weight row of a tile with a row: the sum over the simdgroups, in their order. `shares`: of the tile. */
  static float add_shares(threadgroup const float* shares, uint weight_row, uint row, uint) {
    threadgroup const float* own = shares + (weight_row % 8 * 4 + row % 8 / 2) * sums + row / 8 * 4 + weight_row / 8 * 2 + row % 2;
    float total = own[0];
#pragma unroll
    for (uint i = 1; i < kSimdgroups; ++i) total += own[i * (kLanes * sums)];
    return total;
  }
};

/** launch.rows of 16 rows. x: 16 rows as DeviceBytes of one plane. */
kernel void linear_stream16_q4(MARKBASE_CORES_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  threadgroup float numbers[kSimdgroups][2 * kSpans * PlaneStream::rows];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  threadgroup float* shares = (threadgroup float*)(memory + kSimdgroups * kStages * kStreamStageBytes);
  threadgroup uchar* stages = memory + thread_index / kLanes * (kStages * kStreamStageBytes);
  StreamCopier copier(StreamShare(p, at.x, groups.x, stream_tiles(PlaneStream::rows)), bound, launch, p.in, thread_index);
  begin_copies(launch, stages, copier);
  nvidia::wait_for_inputs();
  const StreamPack source = {{(device uint*)x, p.in, PlaneStream::rows}, numbers[thread_index / kLanes]};
  multiply_share<PlaneStream>(p, launch, operand, source, stages, shares, thread_index, copier);
}
