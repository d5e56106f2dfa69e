/**
 * linear_tile: y_i = x W_i^T for up to three weights of one format and many rows, in `fast`.
 *
 * A threadgroup of four simdgroups computes 32 rows × 64 outputs as bf16 matrices; see metal_tile.h. A row gives the same bits in
 * any step of a program. linear_tensor.metal does the same with the tensor operations of Metal 4.
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

template <int format, typename T>
kernel void linear_tile(constant LinearParams& p [[buffer(0)]],
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
  threadgroup T rows[kTileRows * kTileStride];
  threadgroup T columns[kTileOutputs * kTileStride];
  threadgroup float products[kTileRows * kTileOutputs];
  const Tile tile = tile_at<kTileRows, kTileOutputs>(p, at);
  const DeviceRows source = {x, launch.x_stride, launch.rows - 1, p.in, launch.x_alignment};
  const uint index = weight_of_row(tile, tile_output(thread_index)), shift = 6 + 3 * index;
  const WeightLayout layout = {p.in, p.weight[index].group, p.weight[index].scale_type, launch.alignment[index]};
  const WeightRow weights = weight_row<format>((index == 0   ? w0
                                                : index == 1 ? w1
                                                             : w2) +
                                                   launch.shift[shift],
                                               (index == 0   ? s0
                                                : index == 1 ? s1
                                                             : s2) +
                                                   launch.shift[shift + 1],
                                               (index == 0   ? b0
                                                : index == 1 ? b1
                                                             : b2) +
                                                   launch.shift[shift + 2],
                                               layout, min(tile.first_output + tile_output(thread_index) % tile.outputs, tile.out - 1));

  multiply_tile<format>(source, tile.first_row + tile_row(thread_index), launch.rows - tile.first_row, weights, layout, rows, columns,
                        products, thread_index);
  store_tile<kTileOutputs>(p, tile, launch.rows, products, operand, tile.weight == 0 ? y0 : tile.weight == 1 ? y1 : y2, thread_index);
}

#define MARKBASE_LINEAR_TILE(name, format) \
  template [[host_name("linear_tile_" #name)]] kernel decltype(linear_tile<format, bfloat>) linear_tile<format, bfloat>;

MARKBASE_LINEAR_TILE(q2, 2)
MARKBASE_LINEAR_TILE(q3, 3)
MARKBASE_LINEAR_TILE(q4, 4)
MARKBASE_LINEAR_TILE(q5, 5)
MARKBASE_LINEAR_TILE(q6, 6)
MARKBASE_LINEAR_TILE(q8, 8)
MARKBASE_LINEAR_TILE(mxfp4, kFormatMxfp4)
MARKBASE_LINEAR_TILE(mxfp8, kFormatMxfp8)
MARKBASE_LINEAR_TILE(nvfp4, kFormatNvfp4)
MARKBASE_LINEAR_TILE(bf16, kFormatBf16)
MARKBASE_LINEAR_TILE(f16, kFormatF16)
MARKBASE_LINEAR_TILE(f32, kFormatF32)
