/**
 * rms_norm_pair: two rms_norm, the second of which adds the result of the first: y = (norm(x0) + norm(x1)) * output_scale, with the same
 * bits. One threadgroup per row; it reads the whole row before it stores any of it.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "rms_norm_params.h"
#include "rms_norm_pair.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"
#include "metal_held.h"

#pragma METAL fp contract(off)

static_assert(kHeld == MARKBASE_HELD_ELEMENTS, "host and kernel disagree");

kernel void rms_norm_pair(constant RmsNormPairParams& p [[buffer(0)]],
                          constant Launch& launch [[buffer(1)]],
                          device const float* x0 [[buffer(2)]],
                          device const uchar* gain0 [[buffer(3)]],
                          device const float* x1 [[buffer(4)]],
                          device const uchar* gain1 [[buffer(5)]],
                          device float* y [[buffer(6)]],
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[2][kRowSimdgroups];
  const uint width = p.first.width, lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint step = width <= kSimdgroupWidth ? kLanes : kRowThreads;
  HeldElements first, second;
  if (p.first.has_gain != 0) first.load_gains(p.first, gain0 + launch.shift[1], thread_index, step);
  if (p.second.has_gain != 0) second.load_gains(p.second, gain1 + launch.shift[3], thread_index, step);
  nvidia::wait_for_inputs();
  first.load(p.first, x0 + ulong(row) * p.first.x_stride, thread_index, step);
  second.load(p.second, x1 + ulong(row) * p.second.x_stride, thread_index, step);
  float squares0 = simd_sum(first.squares(width, thread_index, step)), squares1 = simd_sum(second.squares(width, thread_index, step));
  if (lane == 0) {
    partial[0][simdgroup] = squares0;
    partial[1][simdgroup] = squares1;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (step == kRowThreads) {
    // In the order of sum_over_threads.
    squares0 = partial[0][0];
    squares1 = partial[1][0];
    for (uint i = 1; i < kRowSimdgroups; ++i) {
      squares0 += partial[0][i];
      squares1 += partial[1][i];
    }
  }
  const float factor0 = norm_factor(squares0, width, p.first.eps), factor1 = norm_factor(squares1, width, p.second.eps);
  device float* to = y + ulong(row) * p.second.y_stride;
#pragma unroll
  for (uint k = 0; k < kHeld; ++k) {
    const uint i = thread_index + k * step;
    if (i >= width) break;
    to[i] = (first.normed(p.first, factor0, k) + second.normed(p.second, factor1, k)) * p.second.output_scale;
  }
}
