/** elementwise: the formulas of ElementwiseOp on [rows, width]; one thread per element. */
#include <metal_stdlib>
using namespace metal;

#include "elementwise_params.h"
#include "launch.h"
#include "metal_math.h"

kernel void elementwise(constant ElementwiseParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* a [[buffer(2)]],
                        device const float* b [[buffer(3)]],
                        device float* y [[buffer(4)]],
                        uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const float value = a[ulong(at.y) * p.a_stride + at.x];
  device float* out = y + ulong(at.y) * p.y_stride + at.x;
  switch (p.op) {
    case kElementwiseAdd: *out = (value + b[ulong(at.y) * p.b_stride + at.x]) * p.scale; break;
    case kElementwiseScale: *out = value * p.scale; break;
    case kElementwiseGeglu: *out = gelu_tanh(value) * b[ulong(at.y) * p.b_stride + at.x]; break;
    case kElementwiseSoftcap: *out = softcap(value, p.scale); break;
    case kElementwiseGlu: *out = value * sigmoid(b[ulong(at.y) * p.b_stride + at.x]); break;
    default: *out = clamped(value, p.scale, p.high); break;
  }
}
