/**
 * layer_norm: y = (x - mean) * (variance + eps)^(-1/2) * gain + bias. One threadgroup per vector: one simdgroup up to
 * kSimdgroupWidth elements, kRowThreads threads beyond. The variance is computed from the centred values, so that a large mean costs no
 * precision.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "layer_norm_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"

/** A vector minus its mean. */
struct CentredVector {
  device const float* values;
  float mean;
  float at(uint i) const { return values[i] - mean; }
};

kernel void layer_norm(constant LayerNormParams& p [[buffer(0)]],
                       constant Launch& launch [[buffer(1)]],
                       device const float* x [[buffer(2)]],
                       device const uchar* gain [[buffer(3)]],
                       device const uchar* bias [[buffer(4)]],
                       device float* y [[buffer(5)]],
                       uint2 at [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint2 threads [[threads_per_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const ulong row = at.y, offset = ulong(at.x) * p.width;
  device const float* from = x + row * p.x_stride + offset;
  device float* to = y + row * p.y_stride + offset;
  float sum = 0.0f;
  for (uint i = thread_index; i < p.width; i += threads.x) sum += from[i];
  if (p.width <= kSimdgroupWidth) sum = simd_sum(sum);
  else sum = sum_over_threads(sum, partial, thread_index / kLanes, thread_index % kLanes);
  const CentredVector centred = {from, sum / float(p.width)};
  const float factor = vector_factor(centred, p.width, p.eps, partial, thread_index);
  for (uint i = thread_index; i < p.width; i += threads.x) {
    float value = centred.at(i) * factor;
    if (p.has_gain != 0) value = value * load_scalar(gain + launch.shift[1], p.gain_type, i);
    if (p.has_bias != 0) value = value + load_scalar(bias + launch.shift[2], p.bias_type, i);
    to[i] = value;
  }
}
