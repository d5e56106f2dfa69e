/**
 * linear_wide: linear for many rows on the tensor cores, in `fast`.
 *
 * A threadgroup of four simdgroups computes rows × outputs; every simdgroup has all rows of its outputs. Rows, prepared by linear_rows, and
 * stored codes are copied to threadgroup memory several stages of 64 columns ahead. Rows go to the tensor cores unchanged; a lane converts
 * its own codes to bf16, 16 adjacent ones of a span, so that each code is read and converted once per threadgroup. Sums run over the
 * columns in ascending stages, in float32.
 *
 * With few tiles, several threadgroups divide the columns of one; linear_wide_add then adds their partial sums in order.
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
#include "metal_fragments.h"
#include "metal_tile.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "metal_linear_tile.h"
#include "nvidia/bound_weights.h"
#include "nvidia/wide_tile.h"
#include "linear_wide_nvidia.h"

constant constexpr uint kThreads = MARKBASE_WIDE_THREADS;

template <int format, int row_blocks, int output_blocks>
using Wide = WideTile<format, 16 * row_blocks, output_blocks, kThreads>;

/** Adds the products of a stage. `selector`: the bytes of the lane's scalars in their words. */
template <int format, int row_blocks, int output_blocks>
inline void multiply_stage(
    threadgroup const uchar* stage, uint selector, uint lane, uint simdgroup, thread float (&sums)[row_blocks][output_blocks][4]) {
  using W = Wide<format, row_blocks, output_blocks>;
  // For bf16, only the half that a product takes: all of them would need too many registers.
  constexpr int count = W::is_affine ? W::words : 4;
  const uint own = simdgroup * 8 * output_blocks + lane / 4;
  uint words[output_blocks][count], scale[output_blocks], bias[output_blocks];
#pragma unroll
  for (int j = 0; j < output_blocks; ++j) {
    const uint output = own + 8 * j;
    scale[j] = bias[j] = 0;
    if (!W::is_affine) continue;
    threadgroup const uint* scalars = (threadgroup const uint*)(stage + W::scales_at);
    const uint scale_word = scalars[output], bias_word = scalars[W::outputs + output];
    scale[j] = nvidia::select_bytes(scale_word, 0, selector);
    bias[j] = nvidia::select_bytes(bias_word, 0, selector);
    read_words<count>(stage + W::codes_at + output * W::span_bytes + lane % 4 * (4 * count), words[j]);
  }
  threadgroup const uchar* row = stage + lane % 16 * kRowSpan;
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    if (!W::is_affine) {
#pragma unroll
      for (int j = 0; j < output_blocks; ++j) {
        const uint output = own + 8 * j, piece = (lane % 4 * 2 + m / 2) ^ (output % 2);
        read_words<count>(stage + W::codes_at + output * W::span_bytes + piece * 16, words[j]);
      }
    }
    uint pairs[output_blocks][2];
#pragma unroll
    for (int j = 0; j < output_blocks; ++j) weight_pairs<format>(words[j], m, scale[j], bias[j], pairs[j]);
    const uint piece = (2 * m + lane / 16) ^ (lane % 8);
#pragma unroll
    for (int i = 0; i < row_blocks; ++i) {
      uint rows[4];
      nvidia::load_matrix(rows, row + i * 16 * kRowSpan + piece * 16);
#pragma unroll
      for (int j = 0; j < output_blocks; ++j) nvidia::multiply_accumulate(sums[i][j], rows, pairs[j]);
    }
  }
}

template <int format, int row_blocks, int output_blocks>
kernel void linear_wide(MARKBASE_WIDE_ARGUMENTS) {
  using W = Wide<format, row_blocks, output_blocks>;
  const uint lane = thread_index % 32, simdgroup = thread_index / 32;
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  const Tile tile = tile_at<W::rows, W::outputs>(p, uint2(at.x, at.y));
  const uint groups = W::is_affine ? p.in / p.weight[tile.weight].group : 0;
  StageSource<W> source;
  source.begin(p, launch, x, bound, tile, thread_index);

  const uint all = wide_columns(p.in) / MARKBASE_WIDE_COLUMNS, share = (all + grid.z - 1) / grid.z;
  const uint begin = min(at.z * share, all), end = min(begin + share, all);
  float sums[row_blocks][output_blocks][4];
#pragma unroll
  for (int i = 0; i < row_blocks; ++i) {
#pragma unroll
    for (int j = 0; j < output_blocks; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[i][j][k] = 0.0f;
    }
  }
#pragma unroll
  for (uint i = 0; i + 1 < W::stages; ++i) {
    if (begin + i < end) source.copy(memory + i * W::stage_bytes, begin + i, thread_index);
    nvidia::end_copies();
  }
  // The stage that is multiplied, and the one that is filled meanwhile, which was multiplied before.
  uint stage = 0, filled = (W::stages - 1) * W::stage_bytes;
  for (uint span = begin; span < end; ++span) {
    nvidia::wait_copies<int(W::stages) - 2>();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (span + W::stages - 1 < end) source.copy(memory + filled, span + W::stages - 1, thread_index);
    nvidia::end_copies();
    // Rows with an odd number of scales begin in the middle of a word.
    const uint is_odd = ((lane / 4 & groups) ^ (span >> source.group_shift)) & 1;
    multiply_stage<format, row_blocks, output_blocks>(memory + stage, is_odd != 0 ? 0x3232 : 0x1010, lane, simdgroup, sums);
    filled = stage;
    stage = stage + W::stage_bytes == W::stages * W::stage_bytes ? 0 : stage + W::stage_bytes;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  threadgroup float* products = (threadgroup float*)memory;
#pragma unroll
  for (int i = 0; i < row_blocks; ++i) {
#pragma unroll
    for (int j = 0; j < output_blocks; ++j) {
      threadgroup float* to = products + (16 * i + lane / 4) * W::product_stride + (simdgroup * output_blocks + j) * 8 + lane % 4 * 2;
      *(threadgroup float2*)to = float2(sums[i][j][0], sums[i][j][1]);
      *(threadgroup float2*)(to + 8 * W::product_stride) = float2(sums[i][j][2], sums[i][j][3]);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  store_products<W>(p, launch, bound, tile, products, operand, shares, at, grid, thread_index);
}

/** Adds the products of launch.is_split shares, and finishes them. A threadgroup has the outputs of a block, for equally many rows. */
template <int output_blocks>
kernel void linear_wide_add(constant LinearParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* operand [[buffer(7)]],
                            device float* y0 [[buffer(17)]],
                            device float* y1 [[buffer(18)]],
                            device float* y2 [[buffer(19)]],
                            device const float* shares [[buffer(22)]],
                            uint2 at [[threadgroup_position_in_grid]],
                            uint2 grid [[threadgroups_per_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint outputs = 32 * output_blocks;
  const Tile tile = tile_at<1, outputs>(p, at);
  const uint r = thread_index / tile.outputs, n = thread_index % tile.outputs;
  const uint row = at.y * (kRowThreads / tile.outputs) + r, output = tile.first_output + n;
  if (r >= kRowThreads / tile.outputs || row >= launch.rows || output >= tile.out) return;
  const ulong width = grid.x * outputs, step = width * launch.rows;
  device const float* own = shares + row * width + at.x * outputs + wide_column<output_blocks>(tile.is_pair, n);
  const uint behind = tile.is_pair ? 4 * output_blocks : 0;
  float product = own[0], up = own[behind];
#pragma unroll 4
  for (uint i = 1; i < launch.is_split; ++i) {
    product += own[i * step];
    up += own[i * step + behind];
  }
  device float* y = tile.weight == 0 ? y0 : tile.weight == 1 ? y1 : y2;
  y[ulong(row) * p.weight[tile.weight].y_stride + output] = finish_product(p, tile.weight, product, up, operand, row, output);
}

template [[host_name("linear_wide_add256")]] kernel decltype(linear_wide_add<8>) linear_wide_add<8>;
template [[host_name("linear_wide_add192")]] kernel decltype(linear_wide_add<6>) linear_wide_add<6>;
template [[host_name("linear_wide_add128")]] kernel decltype(linear_wide_add<4>) linear_wide_add<4>;
template [[host_name("linear_wide_add64")]] kernel decltype(linear_wide_add<2>) linear_wide_add<2>;

#define MARKBASE_LINEAR_WIDE(name, format)                                                                                 \
  template [[host_name("linear_wide64x128_" #name)]] kernel decltype(linear_wide<format, 4, 4>) linear_wide<format, 4, 4>; \
  template [[host_name("linear_wide64x64_" #name)]] kernel decltype(linear_wide<format, 4, 2>) linear_wide<format, 4, 2>;
/** For bf16, tiles of 128 rows would need too many registers. */
#define MARKBASE_LINEAR_WIDEST(name, format) \
  template [[host_name("linear_wide128x128_" #name)]] kernel decltype(linear_wide<format, 8, 4>) linear_wide<format, 8, 4>;

MARKBASE_LINEAR_WIDE(q2, 2)
MARKBASE_LINEAR_WIDE(q4, 4)
MARKBASE_LINEAR_WIDE(q6, 6)
MARKBASE_LINEAR_WIDE(q8, 8)
MARKBASE_LINEAR_WIDE(bf16, kFormatBf16)

MARKBASE_LINEAR_WIDEST(q2, 2)
MARKBASE_LINEAR_WIDEST(q4, 4)
MARKBASE_LINEAR_WIDEST(q6, 6)
MARKBASE_LINEAR_WIDEST(q8, 8)
