/** Services around the commands of a step: copies of rows, and checks for non-finite numbers. */
#include <metal_stdlib>
using namespace metal;

#include "row_copy.h"
#include "metal_math.h"

/** to[r][i] = from[r][i]; one thread per element. */
kernel void copy_rows(constant RowCopyParams& p [[buffer(0)]],
                      device const float* from [[buffer(2)]],
                      device float* to [[buffer(3)]],
                      uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= p.rows) return;
  to[ulong(at.y) * p.to_stride + at.x] = from[ulong(at.y) * p.from_stride + at.x];
}

/** to[r][i] = values[from[r][i]]. */
kernel void copy_bytes(constant RowCopyParams& p [[buffer(0)]],
                       device const uchar* from [[buffer(2)]],
                       device float* to [[buffer(3)]],
                       device const float* values [[buffer(4)]],
                       uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= p.rows) return;
  to[ulong(at.y) * p.to_stride + at.x] = values[from[ulong(at.y) * p.from_stride + at.x]];
}

/** first = the lowest command that wrote a NaN or an infinity. */
kernel void check_finite(constant FiniteCheckParams& p [[buffer(0)]],
                         device const float* values [[buffer(2)]],
                         device atomic_uint* first [[buffer(3)]],
                         uint at [[thread_position_in_grid]]) {
  if (at >= p.count || is_finite_number(values[at])) return;
  atomic_fetch_min_explicit(first, p.command, memory_order_relaxed);
}
