/**
 * moe_linear: products of every row with the matrices of the experts that it chose. A threadgroup of eight simdgroups computes a block of
 * outputs: of one choice of one row or, when combining, of one row over all its experts.
 *
 * With one row, the `row` kernels choose the experts and normalise the row themselves; otherwise moe_route and rms_norm run before. The
 * products are those of metal_matrix.h.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "moe_route/moe_route_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_norm.h"
#include "moe_route/metal_route.h"

/** Weight rows that a simdgroup multiplies at a time: outputs, or outputs of gate and up. */
constant constexpr uint kStreams = 4;

#define MARKBASE_MOE_ARGUMENTS                                                                                                  \
  constant MoeLinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]],        \
      device const uchar *norm_gain [[buffer(3)]], device const float *logits [[buffer(4)]],                                    \
      device const uchar *expert_scales [[buffer(5)]], device float *experts [[buffer(6)]], device float *shares [[buffer(7)]], \
      device const uchar *w0 [[buffer(8)]], device const uchar *s0 [[buffer(9)]], device const uchar *b0 [[buffer(10)]],        \
      device const uchar *w1 [[buffer(11)]], device const uchar *s1 [[buffer(12)]], device const uchar *b1 [[buffer(13)]],      \
      device float *y [[buffer(14)]], uint2 at [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]]

/** Fills `weights` with the rows of an expert from output `first` on, of both weights when there are two. */
#define MARKBASE_FIND_EXPERT(format, expert, first, outputs)                                                                        \
  for (uint s = 0; s < kStreams; ++s) {                                                                                             \
    const uint index = s / outputs;                                                                                                 \
    const ulong stored = ulong(expert) * p.weight[index].rows_per_expert + p.weight[index].first_row +                              \
                         min(first + s % outputs, p.out - 1);                                                                       \
    const uint shift = 6 + 3 * index;                                                                                               \
    weights[s] = weight_row<format>((index == 0 ? w0 : w1) + launch.shift[shift], (index == 0 ? s0 : s1) + launch.shift[shift + 1], \
                                    (index == 0 ? b0 : b1) + launch.shift[shift + 2], layout, stored);                              \
  }

/** One output per lane; through geglu with two weights. */
inline float own_product(thread const float* sums, uint outputs, uint lane) {
  float product = 0.0f, up = 0.0f;
  for (uint s = 0; s < kStreams; ++s) {
    if (lane != s % outputs) continue;
    if (s < outputs) product = sums[s];
    else up = sums[s];
  }
  return outputs == kStreams ? product : gelu_tanh(product) * up;
}

/** One row, which is routed and normalised here. Grid: blocks of outputs × chosen experts. */
template <int format>
kernel void moe_linear_row(MARKBASE_MOE_ARGUMENTS, threadgroup float* shared_row [[threadgroup(0)]]) {
  threadgroup float partial[kRowSimdgroups];
  threadgroup float chosen[kMaxChosen], share[kMaxChosen];
  constexpr uint columns = chunk_columns<format>();
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const SharedRow<columns> source = {shared_row, SharedRow<columns>::chunks_of(p.in)};
  float factor = 1.0f;
  if (p.has_norm != 0) factor = vector_factor(DeviceVector{x}, p.in, p.eps, partial, thread_index);
  const uint padded = source.padded_width();
  for (uint i = thread_index; i < padded; i += kRowThreads) {
    float value = i < p.in ? x[i] : 0.0f;
    if (p.has_norm != 0 && i < p.in) value = value * factor * load_scalar(norm_gain + launch.shift[1], p.norm_gain_type, i);
    source.values[source.place(i)] = value;
  }
  if (p.has_routing != 0 && simdgroup == 0) {
    route_row(logits, p.experts, p.top_k, expert_scales + launch.shift[3], p.scale_type, p.logit_scale, chosen, share, lane);
    // The first threadgroup stores the choice for the commands that follow.
    for (uint i = lane; at.x == 0 && at.y == 0 && i < p.top_k; i += kLanes) {
      experts[i] = chosen[i];
      shares[i] = share[i];
    }
  }
  if (p.has_routing == 0 && simdgroup == 0) {
    for (uint i = lane; i < p.top_k; i += kLanes) chosen[i] = experts[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const uint outputs = kStreams / p.weights;
  const uint first = (at.x * kRowSimdgroups + simdgroup) * outputs;
  const WeightLayout layout = {p.in, p.weight[0].group, p.weight[0].scale_type, launch.alignment[0]};
  WeightRow weights[kStreams];
  const uint expert = uint(chosen[at.y]);
  MARKBASE_FIND_EXPERT(format, expert, first, outputs)
  float sums[kStreams];
  multiply<format, kStreams, 1>(weights, layout, source, 0, lane, sums);
  const float product = own_product(sums, outputs, lane);
  if (lane < outputs && first + lane < p.out) y[ulong(at.y) * p.out + first + lane] = product;
}

/** Rows whose experts are known. Grid: blocks of outputs × choices of all rows. */
template <int format>
kernel void moe_linear_rows(MARKBASE_MOE_ARGUMENTS) {
  const uint lane = thread_index % kLanes;
  const uint row = at.y / p.top_k, choice = at.y % p.top_k;
  const uint outputs = kStreams / p.weights;
  const uint first = (at.x * kRowSimdgroups + thread_index / kLanes) * outputs;
  const WeightLayout layout = {p.in, p.weight[0].group, p.weight[0].scale_type, launch.alignment[0]};
  WeightRow weights[kStreams];
  const uint expert = uint(experts[ulong(row) * p.experts_stride + choice]);
  MARKBASE_FIND_EXPERT(format, expert, first, outputs)
  device const float* own = x + ulong(row) * launch.x_stride + (p.has_slices != 0 ? choice * p.in : 0);
  const DeviceRows source = {own, 0, 0, p.in, launch.x_alignment};
  float sums[kStreams];
  multiply<format, kStreams, 1>(weights, layout, source, 0, lane, sums);
  const float product = own_product(sums, outputs, lane);
  if (lane < outputs && first + lane < p.out) y[ulong(row) * p.y_stride + choice * p.out + first + lane] = product;
}

/** y = sum of share_x * (x_x W_e^T). Grid: blocks of outputs × rows. */
template <int format>
kernel void moe_linear_combine(MARKBASE_MOE_ARGUMENTS) {
  const uint lane = thread_index % kLanes;
  const uint row = at.y;
  const uint first = (at.x * kRowSimdgroups + thread_index / kLanes) * kStreams;
  const WeightLayout layout = {p.in, p.weight[0].group, p.weight[0].scale_type, launch.alignment[0]};
  float total = 0.0f;
  for (uint choice = 0; choice < p.top_k; ++choice) {
    const uint expert = uint(experts[ulong(row) * p.experts_stride + choice]);
    WeightRow weights[kStreams];
    MARKBASE_FIND_EXPERT(format, expert, first, kStreams)
    device const float* own = x + ulong(row) * launch.x_stride + (p.has_slices != 0 ? choice * p.in : 0);
    const DeviceRows source = {own, 0, 0, p.in, launch.x_alignment};
    float sums[kStreams];
    multiply<format, kStreams, 1>(weights, layout, source, 0, lane, sums);
    const float product = own_product(sums, kStreams, lane);
    const float share = shares[ulong(row) * p.shares_stride + choice];
    total = choice == 0 ? share * product : fma(share, product, total);
  }
  if (lane < kStreams && first + lane < p.out) y[ulong(row) * p.y_stride + first + lane] = total;
}

#define MARKBASE_MOE_LINEAR(name, format)                                                                            \
  template [[host_name("moe_linear_row_" #name)]] kernel decltype(moe_linear_row<format>) moe_linear_row<format>;    \
  template [[host_name("moe_linear_rows_" #name)]] kernel decltype(moe_linear_rows<format>) moe_linear_rows<format>; \
  template [[host_name("moe_linear_combine_" #name)]] kernel decltype(moe_linear_combine<format>) moe_linear_combine<format>;

MARKBASE_MOE_LINEAR(q2, 2)
MARKBASE_MOE_LINEAR(q3, 3)
MARKBASE_MOE_LINEAR(q4, 4)
MARKBASE_MOE_LINEAR(q5, 5)
MARKBASE_MOE_LINEAR(q6, 6)
MARKBASE_MOE_LINEAR(q8, 8)
MARKBASE_MOE_LINEAR(mxfp4, kFormatMxfp4)
MARKBASE_MOE_LINEAR(mxfp8, kFormatMxfp8)
MARKBASE_MOE_LINEAR(nvfp4, kFormatNvfp4)
MARKBASE_MOE_LINEAR(bf16, kFormatBf16)
MARKBASE_MOE_LINEAR(f16, kFormatF16)
MARKBASE_MOE_LINEAR(f32, kFormatF32)
