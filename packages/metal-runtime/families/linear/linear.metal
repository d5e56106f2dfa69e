/**
 * linear: y_i = x W_i^T for up to three weights of one format and few rows, with optional work before and after.
 *
 * A threadgroup of eight simdgroups computes a block of outputs of one weight for up to `rows` rows; a simdgroup multiplies `streams`
 * weight rows at a time. With one row, every threadgroup computes the prologue itself, in threadgroup memory (the `row` kernels); with more
 * rows, linear_prologue runs first. metal_matrix.h explains why the bits are the same.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_norm.h"
#include "metal_prologue.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"

/** The work of a simdgroup: `outputs` rows of one weight from `first` on, or of a gate and an up weight. */
struct LinearBlock {
  uint weight;
  uint first;
  bool is_pair;
};

/** Index of a block of the grid → weight and first output of a simdgroup. */
inline LinearBlock find_block(constant LinearParams& p, uint block, uint simdgroup, uint streams) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint outputs = is_pair ? streams / 2 : streams;
  uint weight = 0;
  while (!is_pair && weight + 1 < p.weights) {
    const uint blocks = (p.weight[weight].out + outputs * kRowSimdgroups - 1) / (outputs * kRowSimdgroups);
    if (block < blocks) break;
    block -= blocks;
    ++weight;
  }
  return {weight, (block * kRowSimdgroups + simdgroup) * outputs, is_pair};
}

/** Applies the epilogue to the products of a simdgroup and stores them, one output per lane. */
template <int streams, int rows>
inline void store_products(constant LinearParams& p,
                           LinearBlock block,
                           device float* y,
                           device const float* operand,
                           thread const float* sums,
                           uint first_row,
                           uint row_count,
                           uint lane) {
  const uint outputs = block.is_pair ? streams / 2 : streams;
  const uint out = p.weight[block.weight].out, stride = p.weight[block.weight].y_stride;
  float product = 0.0f, up = 0.0f;
  for (uint s = 0; s < uint(streams); ++s) {
    for (uint r = 0; r < uint(rows); ++r) {
      const float total = sums[s * rows + r];
      if (lane == s % outputs * rows + r) {
        if (s < outputs) product = total;
        else up = total;
      }
    }
  }
  const uint output = block.first + lane / rows, row = first_row + lane % rows;
  if (lane >= outputs * rows || output >= out || row >= row_count) return;
  product = finish_product(p, block.weight, product, up, operand, row, output);
  y[ulong(row) * stride + output] = product;
}

#define MARKBASE_LINEAR_ARGUMENTS                                                                                                   \
  constant LinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]],               \
      device const float *residual [[buffer(3)]], device const uchar *residual_gain [[buffer(4)]], device float *h [[buffer(5)]],   \
      device const uchar *norm_gain [[buffer(6)]], device const float *operand [[buffer(7)]], device const uchar *w0 [[buffer(8)]], \
      device const uchar *s0 [[buffer(9)]], device const uchar *b0 [[buffer(10)]], device const uchar *w1 [[buffer(11)]],           \
      device const uchar *s1 [[buffer(12)]], device const uchar *b1 [[buffer(13)]], device const uchar *w2 [[buffer(14)]],          \
      device const uchar *s2 [[buffer(15)]], device const uchar *b2 [[buffer(16)]], device float *y0 [[buffer(17)]],                \
      device float *y1 [[buffer(18)]], device float *y2 [[buffer(19)]], device const int *output_row [[buffer(24)]],                \
      uint2 at [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]]

/** The weight rows of a simdgroup, all stored in one layout; beyond the end, the last row is repeated and its product not stored. */
#define MARKBASE_FIND_STREAMS(format, streams)                                                                                        \
  const LinearBlock block = find_block(p, at.x, thread_index / kLanes, streams);                                                      \
  WeightLayout layout = {p.in, p.weight[block.weight].group, p.weight[block.weight].scale_type, launch.alignment[block.weight]};      \
  WeightRow weights[streams];                                                                                                         \
  for (uint s = 0; s < streams; ++s) {                                                                                                \
    const uint outputs = block.is_pair ? streams / 2 : streams;                                                                       \
    const uint index = block.is_pair ? s / outputs : block.weight;                                                                    \
    const uint shift = 6 + 3 * index;                                                                                                 \
    device const uchar* weight = index == 0 ? w0 : index == 1 ? w1 : w2;                                                              \
    device const uchar* scales = index == 0 ? s0 : index == 1 ? s1 : s2;                                                              \
    device const uchar* biases = index == 0 ? b0 : index == 1 ? b1 : b2;                                                              \
    weights[s] = weight_row<format>(weight + launch.shift[shift], scales + launch.shift[shift + 1], biases + launch.shift[shift + 2], \
                                    layout, min(block.first + s % outputs, p.weight[index].out - 1));                                 \
  }                                                                                                                                   \
  device float* y = block.weight == 0 ? y0 : block.weight == 1 ? y1 : y2

/** Up to `rows` rows without a prologue. Grid: blocks of outputs × blocks of rows. */
template <int format, int streams, int rows>
kernel void linear_rows(MARKBASE_LINEAR_ARGUMENTS) {
  MARKBASE_FIND_STREAMS(format, streams);
  const DeviceRows source = {x, launch.x_stride, launch.rows - 1, p.in, launch.x_alignment};
  float sums[streams * rows];
  multiply<format, streams, rows>(weights, layout, source, at.y * rows, thread_index % kLanes, sums);
  store_products<streams, rows>(p, block, y, operand, sums, at.y * rows, launch.rows, thread_index % kLanes);
}

/** One row, prepared by every threadgroup for itself. `shared_row`: the row, padded to whole chunks. */
template <int format, int streams>
kernel void linear_row(MARKBASE_LINEAR_ARGUMENTS, threadgroup float* shared_row [[threadgroup(0)]]) {
  threadgroup float partial[kRowSimdgroups];
  constexpr uint columns = chunk_columns<format>();
  const SharedRow<columns> source = {shared_row, SharedRow<columns>::chunks_of(p.in)};
  const ulong row = p.gathers != 0 ? output_row[0] : 0;
  prepare_row(p, launch.shift[2], launch.shift[4], x + row * p.x_stride, residual + row * p.residual_stride, residual_gain, h, at.x == 0,
              norm_gain, source, partial, thread_index);
  MARKBASE_FIND_STREAMS(format, streams);
  float sums[streams];
  multiply<format, streams, 1>(weights, layout, source, 0, thread_index % kLanes, sums);
  store_products<streams, 1>(p, block, y, operand, sums, 0, 1, thread_index % kLanes);
}

#define MARKBASE_LINEAR(name, format)                                                                                 \
  template [[host_name("linear_row_" #name)]] kernel decltype(linear_row<format, 4>) linear_row<format, 4>;           \
  template [[host_name("linear_rows1_" #name)]] kernel decltype(linear_rows<format, 4, 1>) linear_rows<format, 4, 1>; \
  template [[host_name("linear_rows4_" #name)]] kernel decltype(linear_rows<format, 4, 4>) linear_rows<format, 4, 4>; \
  template [[host_name("linear_rows8_" #name)]] kernel decltype(linear_rows<format, 2, 8>) linear_rows<format, 2, 8>;

MARKBASE_LINEAR(q2, 2)
MARKBASE_LINEAR(q3, 3)
MARKBASE_LINEAR(q4, 4)
MARKBASE_LINEAR(q5, 5)
MARKBASE_LINEAR(q6, 6)
MARKBASE_LINEAR(q8, 8)
MARKBASE_LINEAR(mxfp4, kFormatMxfp4)
MARKBASE_LINEAR(mxfp8, kFormatMxfp8)
MARKBASE_LINEAR(nvfp4, kFormatNvfp4)
MARKBASE_LINEAR(bf16, kFormatBf16)
MARKBASE_LINEAR(f16, kFormatF16)
MARKBASE_LINEAR(f32, kFormatF32)
