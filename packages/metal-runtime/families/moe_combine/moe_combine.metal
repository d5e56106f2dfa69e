/** moe_combine: y = sum of share_x * x_x over the chosen experts of a row; one thread per element. */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_combine_params.h"

kernel void moe_combine(constant MoeCombineParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device const float* shares [[buffer(3)]],
                        device float* y [[buffer(4)]],
                        uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  device const float* slices = x + ulong(at.y) * p.x_stride + at.x;
  device const float* share = shares + ulong(at.y) * p.shares_stride;
  float sum = share[0] * slices[0];
  for (uint i = 1; i < p.top_k; ++i) sum = fma(share[i], slices[ulong(i) * p.width], sum);
  y[ulong(at.y) * p.y_stride + at.x] = sum;
}
