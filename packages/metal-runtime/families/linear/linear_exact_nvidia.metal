/**
 * linear_exact: linear for one 8-bit weight with few outputs, in float32: the router of a mixture of experts, in every precision. A
 * simdgroup computes one output; every threadgroup prepares its row for itself. All loads are issued before the first sum, those of the
 * weights before the step's inputs are ready. Sums run in the order of linear_row and linear_rows, with the same bits.
 *
 * Rows have more than 1024 columns, up to 3072, a multiple of 32; gains, scales and biases are bf16, and weight rows begin at multiples of
 * 16 bytes.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "linear_exact_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "linear_exact_nvidia.h"

/** A lane's part of a weight row; beyond the end, the last chunk is repeated. */
struct StoredChunks {
  uint4 codes[kLaneChunks][2];
  ushort scales[kLaneChunks], biases[kLaneChunks];

  void load(WeightRow row, uint chunks, uint group, uint lane) {
#pragma unroll
    for (uint k = 0; k < kLaneChunks; ++k) {
      const uint chunk = min(lane + k * kLanes, chunks - 1);
      codes[k][0] = ((device const uint4*)row.data)[2 * chunk];
      codes[k][1] = ((device const uint4*)row.data)[2 * chunk + 1];
      scales[k] = ((device const ushort*)row.scales)[chunk * 32 / group];
      biases[k] = ((device const ushort*)row.biases)[chunk * 32 / group];
    }
  }

  /** The lane's share of the product, in the order of multiply of metal_matrix.h. */
  float multiply(SharedRow<32> x, uint lane) const {
    float sum = 0.0f;
#pragma unroll
    for (uint k = 0; k < kLaneChunks; ++k) {
      const bool exists = lane + k * kLanes < x.chunks;
      const uint column = min(lane + k * kLanes, x.chunks - 1) * 32;
      float4 part = float4(0.0f), total = float4(0.0f);
#pragma unroll
      for (uint q = 0; q < 8; ++q) {
        const float4 value = x.whole_quad(0, column + 4 * q);
        const uint word = codes[k][q / 4][q % 4];
        total += value;
        part = fma(float4(float(word & 0xffu), float(word >> 8 & 0xffu), float(word >> 16 & 0xffu), float(word >> 24)), value, part);
      }
      const float weighted = (part.x + part.y) + (part.z + part.w);
      const float plain = (total.x + total.y) + (total.z + total.w);
      const float next = fma(from_bf16(scales[k]), weighted, fma(from_bf16(biases[k]), plain, sum));
      sum = exists ? next : sum;
    }
    return sum;
  }
};

kernel void linear_exact_q8(MARKBASE_EXACT_ARGUMENTS) {
  threadgroup float memory[kMostColumns], partial[kRowSimdgroups];
  const uint lane = thread_index % kLanes, output = at.x * kRowSimdgroups + thread_index / kLanes, out = p.weight[0].out;
  const SharedRow<32> row = {memory, p.in / 32};
  const WeightLayout layout = {p.in, p.weight[0].group, kScalarBf16, 16};
  StoredChunks stored;
  stored.load(weight_row<8>(weight + launch.shift[6], scales + launch.shift[7], biases + launch.shift[8], layout, min(output, out - 1)),
              row.chunks, layout.group, lane);
  OwnGains gains;
  gains.load(p, norm_gain + launch.shift[4], residual_gain + launch.shift[2], thread_index);

  nvidia::wait_for_inputs();
  float values[1][kOwn];
  prepare_own<1>(p, {x, residual, h, output_row, at.x == 0}, gains, at.y, launch.rows, partial, thread_index, values);
#pragma unroll
  for (uint k = 0; k < kOwn; ++k) {
    const uint i = thread_index + k * kRowThreads;
    if (i < p.in) row.values[row.place(i)] = values[0][k];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float product = simd_sum(stored.multiply(row, lane));
  if (lane == 0 && output < out) {
    y[ulong(at.y) * p.weight[0].y_stride + output] = finish_product(p, 0, product, 0.0f, operand, at.y, output);
  }
}
