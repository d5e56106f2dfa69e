/**
 * moe_linear_tile: products of many rows with the matrices of the experts that they chose, in `fast`.
 *
 * moe_group sorted the choices by expert. A threadgroup of four simdgroups multiplies a tile of up to 32 choices of one expert
 * with 64 of its outputs (or 32 of gate and up) as metal_tile.h does: a weight is read once for 32 choices.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_fragments.h"
#include "metal_tile.h"
#include "metal_groups.h"

template <int format, typename T>
kernel void moe_linear_tile(constant MoeLinearParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* x [[buffer(2)]],
                            device const uchar* w0 [[buffer(8)]],
                            device const uchar* s0 [[buffer(9)]],
                            device const uchar* b0 [[buffer(10)]],
                            device const uchar* w1 [[buffer(11)]],
                            device const uchar* s1 [[buffer(12)]],
                            device const uchar* b1 [[buffer(13)]],
                            device float* y [[buffer(14)]],
                            device const uint* groups [[buffer(22)]],
                            uint2 at [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup T rows[kTileRows * kTileStride];
  threadgroup T columns[kTileOutputs * kTileStride];
  threadgroup float products[kTileRows * kTileOutputs];
  const ExpertTile tile = find_tile(groups, p.experts, at.y, kTileRows);
  device const uint* choices = choices_by_place(groups, p.experts) + tile.first_place;

  // 1. The row of the choice, and the weight row, that this thread loads. In a pair, the first half of the tile is the gate, the second
  // half the same outputs of up.
  const uint choice = tile.count == 0 ? 0 : choices[min(tile_row(thread_index), tile.count - 1)];
  device const float* own = x + ulong(choice / p.top_k) * launch.x_stride + (p.has_slices != 0 ? choice % p.top_k * p.in : 0);
  const DeviceRows source = {own, 0, 0, p.in, launch.x_alignment};
  const uint outputs = kTileOutputs / p.weights, first_output = at.x * outputs;
  const uint output = tile_output(thread_index), index = output / outputs;
  const uint shift = 6 + 3 * index;
  WeightLayout layout = {p.in, p.weight[0].group, p.weight[0].scale_type, launch.alignment[0]};
  const ulong stored = ulong(tile.expert) * p.weight[index].rows_per_expert + p.weight[index].first_row +
                       min(first_output + output % outputs, p.out - 1);
  const WeightRow weights = weight_row<format>((index == 0 ? w0 : w1) + launch.shift[shift],
                                               (index == 0 ? s0 : s1) + launch.shift[shift + 1],
                                               (index == 0 ? b0 : b1) + launch.shift[shift + 2], layout, stored);

  // 2. The products, through geglu with two weights. The grid has the maximum number of tiles; tiles that do not exist get no columns.
  if (tile.count == 0) layout.in = 0;
  multiply_tile<format>(source, 0, tile.count, weights, layout, rows, columns, products, thread_index);
  for (uint i = thread_index; i < tile.count * outputs; i += kTileThreads) {
    const uint r = i / outputs, n = i % outputs;
    if (first_output + n >= p.out) continue;
    float product = products[r * kTileOutputs + n];
    if (p.weights == 2) product = gelu_tanh(product) * products[r * kTileOutputs + outputs + n];
    const uint to = choices[r];
    y[ulong(to / p.top_k) * p.y_stride + to % p.top_k * p.out + first_output + n] = product;
  }
}

#define MARKBASE_MOE_LINEAR_TILE(name, format) \
  template [[host_name("moe_linear_tile_" #name)]] kernel decltype(moe_linear_tile<format, bfloat>) moe_linear_tile<format, bfloat>;

MARKBASE_MOE_LINEAR_TILE(q2, 2)
MARKBASE_MOE_LINEAR_TILE(q3, 3)
MARKBASE_MOE_LINEAR_TILE(q4, 4)
MARKBASE_MOE_LINEAR_TILE(q5, 5)
MARKBASE_MOE_LINEAR_TILE(q6, 6)
MARKBASE_MOE_LINEAR_TILE(q8, 8)
MARKBASE_MOE_LINEAR_TILE(mxfp4, kFormatMxfp4)
MARKBASE_MOE_LINEAR_TILE(mxfp8, kFormatMxfp8)
MARKBASE_MOE_LINEAR_TILE(nvfp4, kFormatNvfp4)
MARKBASE_MOE_LINEAR_TILE(bf16, kFormatBf16)
MARKBASE_MOE_LINEAR_TILE(f16, kFormatF16)
MARKBASE_MOE_LINEAR_TILE(f32, kFormatF32)
