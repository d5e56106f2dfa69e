/**
 * adapter_linear: y = base + M_a x with a matrix chosen per row. One simdgroup per element of y, whose lanes share the columns.
 */
#include <metal_stdlib>
using namespace metal;

#include "adapter_linear_params.h"
#include "launch.h"
#include "metal_math.h"

kernel void adapter_linear(constant AdapterLinearParams& p [[buffer(0)]],
                           constant Launch& launch [[buffer(1)]],
                           device const float* x [[buffer(2)]],
                           device const float* selected [[buffer(3)]],
                           device const float* weights [[buffer(4)]],
                           device const float* base [[buffer(5)]],
                           device float* y [[buffer(6)]],
                           uint2 at [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint2 threads [[threads_per_threadgroup]]) {
  const uint lane = thread_index % kLanes;
  const uint out = at.x * (threads.x / kLanes) + thread_index / kLanes;
  const ulong row = at.y;
  if (out >= p.out_width) return;
  const uint adapter = uint(selected[row * p.selected_stride]);
  float total = 0.0f;
  if (adapter > 0 && adapter <= p.adapters) {
    device const float* weight = weights + (ulong(adapter - 1) * p.out_width + out) * p.in_width;
    device const float* values = x + row * p.x_stride;
    for (uint i = lane; i < p.in_width; i += kLanes) total = fma(values[i], weight[i], total);
    total = simd_sum(total);
  }
  if (lane != 0) return;
  y[row * p.y_stride + out] = p.has_base != 0 ? base[row * p.base_stride + out] + total : total;
}
