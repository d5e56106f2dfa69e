/**
 * rms_norm: y = x * (mean(x^2) + eps)^(-1/2) * gain, optionally y = (residual + that) * output_scale. One threadgroup per vector: one
 * simdgroup up to kSimdgroupWidth elements, kRowThreads threads beyond.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "rms_norm_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"
#include "metal_held.h"

kernel void rms_norm(constant RmsNormParams& p [[buffer(0)]],
                     constant Launch& launch [[buffer(1)]],
                     device const float* x [[buffer(2)]],
                     device const uchar* gain [[buffer(3)]],
                     device const float* residual [[buffer(4)]],
                     device float* y [[buffer(5)]],
                     uint2 at [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]],
                     uint2 threads [[threads_per_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const ulong row = at.y, offset = ulong(at.x) * p.width;
  device const float* from = x + row * p.x_stride + offset;
  device float* to = y + row * p.y_stride + offset;
#if defined(MARKBASE_NVIDIA)
  const uint step = p.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  if (p.width <= kHeld * step) {
    HeldElements held;
    if (p.has_gain != 0) held.load_gains(p, gain + launch.shift[1], thread_index, step);
    nvidia::wait_for_inputs();
    held.load(p, from, thread_index, step);
    held.load_residuals(p, residual + row * p.residual_stride + offset, thread_index, step);
    const float own = held.squares(p.width, thread_index, step);
    const float squares = step == kLanes ? simd_sum(own) : sum_over_threads(own, partial, thread_index / kLanes, thread_index % kLanes);
    held.store(p, norm_factor(squares, p.width, p.eps), to, thread_index, step);
    return;
  }
  nvidia::wait_for_inputs();
#endif
  const float factor = vector_factor(DeviceVector{from}, p.width, p.eps, partial, thread_index);
  for (uint i = thread_index; i < p.width; i += threads.x) {
    float value = from[i] * factor;
    if (p.has_gain != 0) value = value * load_scalar(gain + launch.shift[1], p.gain_type, i);
    if (p.has_residual != 0) value = (residual[row * p.residual_stride + offset + i] + value) * p.output_scale;
    to[i] = value;
  }
}
