/**
 * causal_conv: y[r][c] = sum_j kernel[j][c] * x[r - taps + 1 + j][c] over the rows of a slot, j ascending. One thread per element.
 */
#include <metal_stdlib>
using namespace metal;

#include "causal_conv_params.h"
#include "launch.h"

kernel void causal_conv(constant CausalConvParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device const float* weights [[buffer(3)]],
                        device float* y [[buffer(4)]],
                        device const int* position [[buffer(24)]],
                        uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const uint before = min(uint(position[at.y]), at.y);
  const uint taps = min(p.taps, before + 1);
  device const float* from = x + ulong(at.y - (taps - 1)) * p.x_stride + at.x;
  device const float* weight = weights + ulong(p.taps - taps) * p.width + at.x;
  float total = 0.0f;
  for (uint j = 0; j < taps; ++j) total = fma(weight[ulong(j) * p.width], from[ulong(j) * p.x_stride], total);
  y[ulong(at.y) * p.y_stride + at.x] = total;
}
