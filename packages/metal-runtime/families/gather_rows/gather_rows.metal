/** gather_rows: y[n] = x[output_row[n]]; one thread per element. */
#include <metal_stdlib>
using namespace metal;

#include "gather_rows_params.h"
#include "launch.h"

kernel void gather_rows(constant GatherRowsParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device float* y [[buffer(3)]],
                        device const int* output_row [[buffer(24)]],
                        uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  y[ulong(at.y) * p.y_stride + at.x] = x[ulong(output_row[at.y]) * p.x_stride + at.x];
}
