/**
 * linear_rows: converts the rows of a linear to the layout of linear_wide: bf16, in spans of 64 columns, permuted to match the order in
 * which the tensor cores read the codes. Each of their lanes has 16 adjacent columns of a span, in pairs of columns four apart. Rows are
 * clamped to the bounds of the first weight, and padded with zeros to whole spans.
 *
 * linear_rows_prepared also computes the prologue, with the functions of linear_prologue; linear_rows_normed does the same with all loads
 * of a row in flight together, for bf16 gains and rows at multiples of 16 bytes.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "linear_wide_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_norm.h"
#include "metal_prologue.h"
#include "nvidia/packed_rows.h"

static_assert(kSpan == MARKBASE_WIDE_COLUMNS, "spans of packed rows are stages of linear_wide");

/** Adjacent columns that a thread of linear_rows takes. */
constant constexpr uint kOwn = 16;

/** A pair of elements, clamped to the bounds of the first weight. */
inline uint clamped_pair(constant LinearParams& p, float first, float second) {
  const float low = p.weight[0].input_low, high = p.weight[0].input_high;
  const bool has_clip = p.weight[0].has_clip != 0;
  return nvidia::bf16_pair(has_clip ? clamped(first, low, high) : first, has_clip ? clamped(second, low, high) : second);
}

/** The first column of pair `i` of a row; the second one is four columns later. */
inline uint column_of_pair(uint i) { return i / 32 * kSpan + i % 4 * kOwn + i % 32 / 16 * 8 + i / 8 % 2 * 2 + i / 4 % 2; }

kernel void linear_rows(constant LinearParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device uint* prepared [[buffer(22)]],
                        uint2 at [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  const uint own = at.x * kRowThreads + thread_index;
  const uint width = wide_columns(p.in);
  if (own >= width / kOwn) return;
  const bool is_there = own < p.in / kOwn;
  device const float4* source = (device const float4*)(x + ulong(at.y) * launch.x_stride) + (is_there ? own * (kOwn / 4) : 0);
  float4 quads[4] = {source[0], source[1], source[2], source[3]};
#pragma unroll
  for (uint i = 0; i < 4; ++i) quads[i] = is_there ? quads[i] : float4(0.0f);
  // Pairs 4 (2 m + i) + lane of the span.
  device uint* to = prepared + (ulong(at.y) * width + own / 4 * kSpan) / 2 + own % 4;
#pragma unroll
  for (uint half_of = 0; half_of < 2; ++half_of) {
    const float4 low = quads[2 * half_of], high = quads[2 * half_of + 1];
    to[16 * half_of] = clamped_pair(p, low.x, high.x);
    to[16 * half_of + 4] = clamped_pair(p, low.y, high.y);
    to[16 * half_of + 8] = clamped_pair(p, low.z, high.z);
    to[16 * half_of + 12] = clamped_pair(p, low.w, high.w);
  }
}

kernel void linear_rows_prepared(constant LinearParams& p [[buffer(0)]],
                                 constant Launch& launch [[buffer(1)]],
                                 device const float* x [[buffer(2)]],
                                 device const float* residual [[buffer(3)]],
                                 device const uchar* residual_gain [[buffer(4)]],
                                 device float* h [[buffer(5)]],
                                 device const uchar* norm_gain [[buffer(6)]],
                                 device uint* prepared [[buffer(22)]],
                                 device const int* output_row [[buffer(24)]],
                                 threadgroup float* shared_row [[threadgroup(0)]],
                                 uint row [[threadgroup_position_in_grid]],
                                 uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const SharedRow<8> source = {shared_row, SharedRow<8>::chunks_of(p.in)};
  const ulong from = p.gathers != 0 ? output_row[row] : row;
  prepare_row(p, launch.shift[2], launch.shift[4], x + from * p.x_stride, residual + from * p.residual_stride, residual_gain,
              h + ulong(row) * p.h_stride, true, norm_gain, source, partial, thread_index);
  const uint width = wide_columns(p.in);
  for (uint i = thread_index; i < width / 2; i += kRowThreads) {
    const uint column = column_of_pair(i);
    // Either both columns of a pair exist, or neither.
    const uint at = column < p.in ? column : 0;
    const uint pair = clamped_pair(p, source.at(at), source.at(at + 4));
    prepared[ulong(row) * (width / 2) + i] = column < p.in ? pair : 0;
  }
}

/** A row in this layout, for pack_row. */
struct WideWriter {
  constant LinearParams& p;
  device uint* row;

  /** Padded with zeros to whole spans. */
  static uint padded(uint quads) { return wide_columns(4 * quads) / 4; }
  /** Stores four adjacent elements, or zeros beyond the end. All lanes of a simdgroup call it, with consecutive quads. */
  void put(uint quad, uint quads, float4 value) const {
    // Of every eight columns, a lane stores pairs 0 and 1, its neighbour pairs 2 and 3.
    const uint low = clamped_pair(p, value.x, value.y), high = clamped_pair(p, value.z, value.w);
    const bool is_second = quad % 2 != 0;
    const uint got = simd_shuffle_xor(is_second ? low : high, ushort(1));
    const uint first = is_second ? got : low, second = is_second ? high : got;
    if (quad >= padded(quads)) return;
    device uint* to = row + quad / 16 * (kSpan / 2) + quad / 4 % 4 + quad % 4 / 2 * 16 + quad % 2 * 8;
    to[0] = quad < quads ? nvidia::select_bytes(first, second, 0x5410) : 0;
    to[4] = quad < quads ? nvidia::select_bytes(first, second, 0x7632) : 0;
  }
};

/** `count`: maximum number of quads of columns per thread. The row has a norm. */
template <uint count>
kernel void linear_rows_normed(constant LinearParams& p [[buffer(0)]],
                               constant Launch& launch [[buffer(1)]],
                               device const float* x [[buffer(2)]],
                               device const float* residual [[buffer(3)]],
                               device const uchar* residual_gain [[buffer(4)]],
                               device float* h [[buffer(5)]],
                               device const uchar* norm_gain [[buffer(6)]],
                               device uint* prepared [[buffer(22)]],
                               device const int* output_row [[buffer(24)]],
                               uint row [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const ulong from = p.gathers != 0 ? output_row[row] : row;
  const PackSource source = {x + from * p.x_stride,       residual + from * p.residual_stride, residual_gain + launch.shift[2],
                             h + ulong(row) * p.h_stride, norm_gain + launch.shift[4],         true};
  const WideWriter out = {p, prepared + ulong(row) * (wide_columns(p.in) / 2)};
  pack_row<kRowThreads, count>(p, source, out, partial, thread_index);
}

template [[host_name("linear_rows_normed2")]] kernel decltype(linear_rows_normed<2>) linear_rows_normed<2>;
template [[host_name("linear_rows_normed6")]] kernel decltype(linear_rows_normed<6>) linear_rows_normed<6>;
