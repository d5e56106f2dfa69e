/**
 * linear_tensor: linear_tile with the tensor operations of Metal 4, for GPUs with matrix units. It replaces linear_tile where the system
 * and the GPU support it; see kernel_library.mm.
 *
 * All simdgroups of a threadgroup execute one matmul2d per step, on tiles of bf16 with sums in float32, which stay in a
 * cooperative tensor. Metal does not specify the order of the sums within a step; it is assumed to depend only on the shapes of the tile.
 * This file was never compiled by Apple's compiler or run on a GPU: it follows Apple's documentation and runs in packages/metal-sim.
 */
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
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
kernel void linear_tensor(constant LinearParams& p [[buffer(0)]],
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
  threadgroup T rows[kTileRows * kTileColumns];
  threadgroup T columns[kTileOutputs * kTileColumns];
  threadgroup float products[kTileRows * kTileOutputs];
  const Tile tile = tile_at<kTileRows, kTileOutputs>(p, at);
  const DeviceRows source = {x, launch.x_stride, launch.rows - 1, p.in, launch.x_alignment};
  const uint own_row = tile.first_row + tile_row(thread_index);
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

  using Operand = tensor<threadgroup T, dextents<int32_t, 2>, tensor_inline>;
  using Product = tensor<threadgroup float, dextents<int32_t, 2>, tensor_inline>;
  constexpr auto descriptor = mpp::tensor_ops::matmul2d_descriptor(kTileRows, kTileOutputs, kTileColumns, false, true, false,
                                                                   mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate);
  mpp::tensor_ops::matmul2d<descriptor, execution_simdgroups<kTileThreads / kLanes>> multiply;
  // Sizes are given with the innermost dimension first.
  Operand left(rows, dextents<int32_t, 2>(kTileColumns, kTileRows));
  Operand right(columns, dextents<int32_t, 2>(kTileColumns, kTileOutputs));
  Product product(products, dextents<int32_t, 2>(kTileOutputs, kTileRows));
  auto sums = multiply.template get_destination_cooperative_tensor<Operand, Operand, float>();
  for (uint16_t i = 0; i < sums.get_capacity(); ++i) sums[i] = 0.0f;
  for (uint column = 0; column < p.in; column += kTileColumns) {
    load_tile<format, kTileColumns>(source, own_row, weights, layout, column, thread_index, rows, columns);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply.run(left, right, sums);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  sums.store(product);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  store_tile<kTileOutputs>(p, tile, launch.rows, products, operand, tile.weight == 0 ? y0 : tile.weight == 1 ? y1 : y2, thread_index);
}

#define MARKBASE_LINEAR_TENSOR(name, format) \
  template [[host_name("linear_tensor_" #name)]] kernel decltype(linear_tensor<format, bfloat>) linear_tensor<format, bfloat>;

MARKBASE_LINEAR_TENSOR(q2, 2)
MARKBASE_LINEAR_TENSOR(q3, 3)
MARKBASE_LINEAR_TENSOR(q4, 4)
MARKBASE_LINEAR_TENSOR(q5, 5)
MARKBASE_LINEAR_TENSOR(q6, 6)
MARKBASE_LINEAR_TENSOR(q8, 8)
MARKBASE_LINEAR_TENSOR(mxfp4, kFormatMxfp4)
MARKBASE_LINEAR_TENSOR(mxfp8, kFormatMxfp8)
MARKBASE_LINEAR_TENSOR(nvfp4, kFormatNvfp4)
MARKBASE_LINEAR_TENSOR(bf16, kFormatBf16)
MARKBASE_LINEAR_TENSOR(f16, kFormatF16)
MARKBASE_LINEAR_TENSOR(f32, kFormatF32)
