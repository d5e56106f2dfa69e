/** pool_rows: y[n] = scale * the sum of `count` rows of x from output_row[n] on, ascending. One thread per element. */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "pool_rows_params.h"

kernel void pool_rows(constant PoolRowsParams& p [[buffer(0)]],
                      constant Launch& launch [[buffer(1)]],
                      device const float* x [[buffer(2)]],
                      device float* y [[buffer(3)]],
                      device const int* output_row [[buffer(24)]],
                      uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const uint first = uint(output_row[at.y]);
  // `parts`: number of rows of the step. Rows beyond the end count as zero.
  const uint count = min(p.count, launch.parts - first);
  device const float* from = x + ulong(first) * p.x_stride + at.x;
  float total = 0.0f;
  for (uint r = 0; r < count; ++r) total += from[ulong(r) * p.x_stride];
  y[ulong(at.y) * p.y_stride + at.x] = total * p.scale;
}
