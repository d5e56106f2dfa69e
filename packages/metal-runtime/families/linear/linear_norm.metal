/**
 * linear_norm: products of one row, scaled and normalised in groups, in one dispatch: the per-layer embeddings of a decode
 * step. A threadgroup computes the outputs of one group. The bits are those of linear, elementwise and rms_norm.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_norm.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_norm.h"

/** Weight rows that a simdgroup multiplies at a time. */
constant constexpr uint kStreams = 4;

/** A vector in threadgroup memory. */
struct SharedVector {
  threadgroup const float* values;
  float at(uint i) const { return values[i]; }
};

template <int format>
kernel void linear_norm(constant LinearNormParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device const uchar* weight [[buffer(3)]],
                        device const uchar* scales [[buffer(4)]],
                        device const uchar* biases [[buffer(5)]],
                        device const uchar* gain [[buffer(6)]],
                        device const float* residual [[buffer(7)]],
                        device float* y [[buffer(8)]],
                        uint group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float products[kSimdgroupWidth];
  threadgroup float partial[kRowSimdgroups];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const WeightLayout layout = {p.in, p.group, p.scale_type, launch.alignment[0]};
  const DeviceRows source = {x, 0, 0, p.in, launch.x_alignment};
  for (uint first = simdgroup * kStreams; first < p.width; first += kRowSimdgroups * kStreams) {
    WeightRow weights[kStreams];
    for (uint s = 0; s < kStreams; ++s) {
      weights[s] = weight_row<format>(weight + launch.shift[1], scales + launch.shift[2], biases + launch.shift[3], layout,
                                      ulong(group) * p.width + min(first + s, p.width - 1));
    }
    float sums[kStreams];
    multiply<format, kStreams, 1>(weights, layout, source, 0, lane, sums);
    for (uint s = 0; s < kStreams; ++s) {
      if (lane == s && first + s < p.width) products[first + s] = sums[s] * p.scale;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float factor = vector_factor(SharedVector{products}, p.width, p.eps, partial, thread_index);
  const ulong offset = ulong(group) * p.width;
  for (uint i = thread_index; i < p.width; i += kRowThreads) {
    float value = products[i] * factor;
    if (p.has_gain != 0) value = value * load_scalar(gain + launch.shift[4], p.gain_type, i);
    if (p.has_residual != 0) value = (residual[offset + i] + value) * p.output_scale;
    y[offset + i] = value;
  }
}

#define MARKBASE_LINEAR_NORM(name, format) \
  template [[host_name("linear_norm_" #name)]] kernel decltype(linear_norm<format>) linear_norm<format>;

MARKBASE_LINEAR_NORM(q2, 2)
MARKBASE_LINEAR_NORM(q3, 3)
MARKBASE_LINEAR_NORM(q4, 4)
MARKBASE_LINEAR_NORM(q5, 5)
MARKBASE_LINEAR_NORM(q6, 6)
MARKBASE_LINEAR_NORM(q8, 8)
MARKBASE_LINEAR_NORM(mxfp4, kFormatMxfp4)
MARKBASE_LINEAR_NORM(mxfp8, kFormatMxfp8)
MARKBASE_LINEAR_NORM(nvfp4, kFormatNvfp4)
MARKBASE_LINEAR_NORM(bf16, kFormatBf16)
MARKBASE_LINEAR_NORM(f16, kFormatF16)
MARKBASE_LINEAR_NORM(f32, kFormatF32)
