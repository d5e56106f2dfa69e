/**
 * linear_wide: linear_tile in tiles of 64 rows × 128 outputs, for steps that have enough of them for all multiprocessors.
 *
 * A threadgroup of four simdgroups takes 64 columns at once, and loads the next ones while it multiplies. Every sum has the order
 * that linear_tile gives it: the tiles of a step do not show in its bits.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_fragments.h"
#include "metal_tile.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "metal_linear_tile.h"

constant constexpr uint kWideRows = 64;
constant constexpr uint kWideOutputs = 128;
constant constexpr uint kWideColumns = 64;
/** Elements between two rows of a tile: neighbouring rows begin in different banks. */
constant constexpr uint kWideStride = kWideColumns + 8;
/** A simdgroup makes 32 rows × 64 outputs. */
constant constexpr uint kSimdgroupRows = 32;
constant constexpr uint kSimdgroupOutputs = 64;

/** What a thread loads of a tile of weights: 64 columns of a weight row, as they are stored. */
template <int format>
struct StoredColumns {
  uint words[format <= 8 ? 2 * format : 32];
  float scale[2];  ///< of 32 columns each
  float bias[2];

  void load(WeightRow row, WeightLayout layout, uint column) {
    constexpr int count = format <= 8 ? 2 * format : 32;
    load_words<count>(row.data + ulong(column / kWideColumns) * (count * 4), layout.alignment, words);
    if (format > 8) return;
    for (uint i = 0; i < 2; ++i) {
      scale[i] = load_scalar(row.scales, layout.scale_type, (column + 32 * i) / layout.group);
      bias[i] = load_scalar(row.biases, layout.scale_type, (column + 32 * i) / layout.group);
    }
  }

  /** Columns 2 i and 2 i + 1, rounded to bf16. */
  uint pair(int i) const {
    if (format > 8) return words[i];
    constexpr int bits = format <= 8 ? format : 8;
    const float factor = scale[i / 16], shift = bias[i / 16];
    thread const uint* half_of = words + i / 16 * bits;
    const int first = i % 16 * 2;
    return nvidia::bf16_pair(fma(code_at<bits>(half_of, first), factor, shift), fma(code_at<bits>(half_of, first + 1), factor, shift));
  }

  void place(threadgroup bfloat* to) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) ((threadgroup uint4*)to)[i] = uint4(pair(4 * i), pair(4 * i + 1), pair(4 * i + 2), pair(4 * i + 3));
  }
};

/** What a thread loads of a tile of rows: every other quad of 64 columns of a row. */
struct RowColumns {
  float4 quads[8];

  void load(DeviceRows source, uint row, uint column) {
    for (uint i = 0; i < 8; ++i) quads[i] = source.quad(row, column + 8 * i);
  }
  void place(threadgroup bfloat* to) const {
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      const uint2 pairs = uint2(nvidia::bf16_pair(quads[i].x, quads[i].y), nvidia::bf16_pair(quads[i].z, quads[i].w));
      *(threadgroup uint2*)(to + 8 * i) = pairs;
    }
  }
};

template <int format>
kernel void linear_wide(constant LinearParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device const float* operand [[buffer(7)]],
                        device const uchar* w0 [[buffer(8)]],
                        device const uchar* s0 [[buffer(9)]],
                        device const uchar* b0 [[buffer(10)]],
                        device const uchar* w1 [[buffer(11)]],
                        device const uchar* s1 [[buffer(12)]],
                        device const uchar* b1 [[buffer(13)]],
                        device const uchar* w2 [[buffer(14)]],
                        device const uchar* s2 [[buffer(15)]],
                        device const uchar* b2 [[buffer(16)]],
                        device float* y0 [[buffer(17)]],
                        device float* y1 [[buffer(18)]],
                        device float* y2 [[buffer(19)]],
                        uint2 at [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  // Rows, then weights; at last, in their place, the products of 32 rows.
  threadgroup uint4 memory[(kWideRows + kWideOutputs) * kWideStride / 8];
  threadgroup bfloat* rows = (threadgroup bfloat*)memory;
  threadgroup bfloat* columns = rows + kWideRows * kWideStride;
  threadgroup float* products = (threadgroup float*)memory;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  Tile tile = tile_at<kWideRows, kWideOutputs>(p, at);
  const DeviceRows source = {x, launch.x_stride, launch.rows - 1, p.in, launch.x_alignment};
  const uint index = weight_of_row(tile, thread_index), shift = 6 + 3 * index;
  const WeightLayout layout = {p.in, p.weight[index].group, p.weight[index].scale_type, launch.alignment[index]};
  const WeightRow weights = weight_row<format>((index == 0 ? w0 : index == 1 ? w1 : w2) + launch.shift[shift],
                                               (index == 0 ? s0 : index == 1 ? s1 : s2) + launch.shift[shift + 1],
                                               (index == 0 ? b0 : index == 1 ? b1 : b2) + launch.shift[shift + 2], layout,
                                               min(tile.first_output + thread_index % tile.outputs, tile.out - 1));
  const uint own_row = thread_index / 2, own_column = thread_index % 2 * 4;
  const uint first_row = simdgroup / 2 * kSimdgroupRows, first_output = simdgroup % 2 * kSimdgroupOutputs;

  SumFragment sums[2][8];
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
#pragma unroll
    for (uint j = 0; j < 8; ++j) clear(sums[i][j]);
  }
  RowColumns next_rows;
  StoredColumns<format> next_weights;
  next_rows.load(source, tile.first_row + own_row, own_column);
  next_weights.load(weights, layout, 0);
  for (uint column = 0; column < p.in; column += kWideColumns) {
    next_rows.place(rows + own_row * kWideStride + own_column);
    next_weights.place(columns + thread_index * kWideStride);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (column + kWideColumns < p.in) {
      next_rows.load(source, tile.first_row + own_row, column + kWideColumns + own_column);
      next_weights.load(weights, layout, column + kWideColumns);
    }
#pragma unroll
    for (uint k = 0; k < kWideColumns; k += 16) {
      RowFragment<bfloat> a[2];
#pragma unroll
      for (uint i = 0; i < 2; ++i) load_rows(a[i], rows + (first_row + 16 * i) * kWideStride + k, kWideStride, lane);
#pragma unroll
      for (uint j = 0; j < 8; ++j) {
        OutputFragment<bfloat> b;
        load_outputs(b, columns + (first_output + 8 * j) * kWideStride + k, kWideStride, lane);
#pragma unroll
        for (uint i = 0; i < 2; ++i) add_product(sums[i][j], a[i], b);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  device float* y = tile.weight == 0 ? y0 : tile.weight == 1 ? y1 : y2;
  for (uint half_of = 0; half_of < kWideRows / kTileRows; ++half_of) {
    if (first_row == half_of * kTileRows) {
#pragma unroll
      for (uint i = 0; i < 2; ++i) {
#pragma unroll
        for (uint j = 0; j < 8; ++j) store_sums(sums[i][j], products + 16 * i * kWideOutputs + first_output + 8 * j, kWideOutputs, lane);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    store_tile<kWideOutputs>(p, tile, launch.rows, products, operand, y, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tile.first_row += kTileRows;
  }
}

#define MARKBASE_LINEAR_WIDE(name, format) \
  template [[host_name("linear_wide_" #name)]] kernel decltype(linear_wide<format>) linear_wide<format>;

MARKBASE_LINEAR_WIDE(q2, 2)
MARKBASE_LINEAR_WIDE(q3, 3)
MARKBASE_LINEAR_WIDE(q4, 4)
MARKBASE_LINEAR_WIDE(q5, 5)
MARKBASE_LINEAR_WIDE(q6, 6)
MARKBASE_LINEAR_WIDE(q8, 8)
MARKBASE_LINEAR_WIDE(bf16, kFormatBf16)
