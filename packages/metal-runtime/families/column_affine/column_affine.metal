/** column_affine: y = (x + factor * shift) * gain, shift and gain per column. One thread per element. */
#include <metal_stdlib>
using namespace metal;

#include "column_affine_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "metal_storage.h"

kernel void column_affine(constant ColumnAffineParams& p [[buffer(0)]],
                          constant Launch& launch [[buffer(1)]],
                          device const float* x [[buffer(2)]],
                          device const uchar* shift [[buffer(3)]],
                          device const uchar* gain [[buffer(4)]],
                          device float* y [[buffer(5)]],
                          uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  float value = x[ulong(at.y) * p.x_stride + at.x];
  if (p.has_shift != 0) value = value + p.factor * load_scalar(shift + launch.shift[1], p.shift_type, at.x);
  if (p.has_gain != 0) value = value * load_scalar(gain + launch.shift[2], p.gain_type, at.x);
  y[ulong(at.y) * p.y_stride + at.x] = value;
}
