/**
 * attention_linear: y = x W^T for one row of attention that was split into spans. Every threadgroup folds all spans itself, like
 * attention_combine, which saves a dispatch in steps of one token. A row has at most kMostSpans spans, which bounds the repeated reads;
 * these hit the cache. The bits are those of attention_combine followed by linear.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "attention_linear.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"
#include "metal_matrix.h"
#include "metal_attention.h"

/** Weight rows that a simdgroup multiplies at a time. */
constant constexpr uint kStreams = 4;

template <int format>
kernel void attention_linear(constant AttentionLinearParams& p [[buffer(0)]],
                             constant Launch& launch [[buffer(1)]],
                             device const float* spans [[buffer(2)]],
                             device const uchar* weight [[buffer(3)]],
                             device const uchar* scales [[buffer(4)]],
                             device const uchar* biases [[buffer(5)]],
                             device float* y [[buffer(6)]],
                             device const int* positions [[buffer(24)]],
                             device const int* visible_ends [[buffer(25)]],
                             uint block [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             threadgroup float* shared_row [[threadgroup(0)]]) {
  threadgroup float2 factors[MARKBASE_ATTENTION_LINEAR_HEADS * kMostSpans];
  threadgroup float sums[MARKBASE_ATTENTION_LINEAR_HEADS];
  constexpr uint columns = chunk_columns<format>();
  const SharedRow<columns> row = {shared_row, SharedRow<columns>::chunks_of(p.in)};
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;

  const uint count = partitions_of(visible_positions(p.window, positions[0], visible_ends[0])).spans();
  const ulong stride = p.width + kSpanHeader;
  const uint heads = p.in / p.width;
  for (uint head = thread_index; head < heads; head += kRowThreads) {
    sums[head] = find_span_factors(spans + head * p.places * stride, count, stride, factors + head * kMostSpans);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < row.padded_width(); i += kRowThreads) {
    const uint head = i / p.width;
    row.values[row.place(i)] = i >= p.in ? 0.0f
                                         : fold_spans(spans + head * p.places * stride + kSpanHeader + i % p.width, count, stride,
                                                      factors + head * kMostSpans, sums[head]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const WeightLayout layout = {p.in, p.group, p.scale_type, launch.alignment[0]};
  const uint first = (block * kRowSimdgroups + simdgroup) * kStreams;
  WeightRow weights[kStreams];
  for (uint s = 0; s < kStreams; ++s) {
    weights[s] =
        weight_row<format>(weight + launch.shift[1], scales + launch.shift[2], biases + launch.shift[3], layout, min(first + s, p.out - 1));
  }
  float products[kStreams];
  multiply<format, kStreams, 1>(weights, layout, row, 0, lane, products);
  for (uint s = 0; s < kStreams; ++s) {
    if (lane == s && first + s < p.out) y[first + s] = products[s];
  }
}

#define MARKBASE_ATTENTION_LINEAR(name, format) \
  template [[host_name("attention_linear_" #name)]] kernel decltype(attention_linear<format>) attention_linear<format>;

MARKBASE_ATTENTION_LINEAR(q2, 2)
MARKBASE_ATTENTION_LINEAR(q3, 3)
MARKBASE_ATTENTION_LINEAR(q4, 4)
MARKBASE_ATTENTION_LINEAR(q5, 5)
MARKBASE_ATTENTION_LINEAR(q6, 6)
MARKBASE_ATTENTION_LINEAR(q8, 8)
MARKBASE_ATTENTION_LINEAR(mxfp4, kFormatMxfp4)
MARKBASE_ATTENTION_LINEAR(mxfp8, kFormatMxfp8)
MARKBASE_ATTENTION_LINEAR(nvfp4, kFormatNvfp4)
MARKBASE_ATTENTION_LINEAR(bf16, kFormatBf16)
MARKBASE_ATTENTION_LINEAR(f16, kFormatF16)
MARKBASE_ATTENTION_LINEAR(f32, kFormatF32)
