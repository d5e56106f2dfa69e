/**
 * Experts for many rows: the weights of an expert are read once for eight rows instead of once per row.
 *
 * moe_group sorts the choices of all rows by expert, in one threadgroup, and cuts them into tiles; moe_tiles multiplies tiles of up to
 * eight choices of one expert, on a grid of blocks of outputs × the maximum number of tiles. The products are those of metal_matrix.h, with
 * the same bits as for single rows. Tiles of 32 choices are for moe_linear_tile.metal.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_groups.h"

/** Choices per tile, and weight rows that a simdgroup multiplies with them at a time. */
constant constexpr uint kTileChoices = 8;
constant constexpr uint kTileStreams = 2;

/** Maximum number of experts; kMaxExperts of metal_route.h. */
constant constexpr uint kMostExperts = 1024;

/** groups: see metal_groups.h, with tiles of `size` choices. A thread takes every 256th expert. */
template <int size>
kernel void moe_group(constant MoeLinearParams& p [[buffer(0)]],
                      constant Launch& launch [[buffer(1)]],
                      device const float* experts [[buffer(6)]],
                      device uint* groups [[buffer(22)]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup uint counts[kMostExperts], first_place[kMostExperts];
  const uint choices = launch.rows * p.top_k;
  for (uint expert = thread_index; expert < p.experts; expert += kRowThreads) {
    uint count = 0;
    for (uint choice = 0; choice < choices; ++choice) {
      if (uint(experts[ulong(choice / p.top_k) * p.experts_stride + choice % p.top_k]) == expert) ++count;
    }
    counts[expert] = count;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    uint place = 0, tile = 0;
    for (uint expert = 0; expert < p.experts; ++expert) {
      first_place[expert] = place;
      groups[expert] = place;
      groups[p.experts + 1 + expert] = tile;
      place += counts[expert];
      tile += (counts[expert] + size - 1) / size;
    }
    groups[p.experts] = place;
    groups[2 * p.experts + 1] = tile;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device uint* by_place = groups + 2 * (p.experts + 1);
  for (uint expert = thread_index; expert < p.experts; expert += kRowThreads) {
    uint place = first_place[expert];
    for (uint choice = 0; choice < choices; ++choice) {
      if (uint(experts[ulong(choice / p.top_k) * p.experts_stride + choice % p.top_k]) != expert) continue;
      by_place[place] = choice;
      ++place;
    }
  }
}

/** Rows at arbitrary addresses. */
struct ScatteredRows {
  device const float* rows;
  ulong begin[kTileChoices];
  uint width;
  uint alignment;

  bool is_whole(uint column, uint count) const { return alignment >= 16 && column + count <= width; }
  float4 whole_quad(uint row, uint column) const { return *(device const float4*)(rows + begin[row] + column); }
  float4 quad(uint row, uint column) const {
    device const float* at = rows + begin[row] + column;
    if (alignment >= 16 && column + 4 <= width) return *(device const float4*)at;
    float values[4];
    for (uint i = 0; i < 4; ++i) values[i] = column + i < width ? at[i] : 0.0f;
    return float4(values[0], values[1], values[2], values[3]);
  }
};

template <int format>
kernel void moe_tiles(constant MoeLinearParams& p [[buffer(0)]],
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
  const uint lane = thread_index % kLanes;

  // 1. The choices of the tile.
  const ExpertTile tile = find_tile(groups, p.experts, at.y, kTileChoices);
  if (tile.count == 0) return;
  device const uint* by_place = choices_by_place(groups, p.experts);
  ScatteredRows source;
  source.rows = x;
  source.width = p.in;
  source.alignment = launch.x_alignment;
  for (uint r = 0; r < kTileChoices; ++r) {
    const uint choice = by_place[tile.first_place + min(r, tile.count - 1)];
    const ulong row = choice / p.top_k;
    source.begin[r] = row * launch.x_stride + (p.has_slices != 0 ? choice % p.top_k * p.in : 0);
  }

  // 2. Products of up to eight choices with two weight rows: two outputs, or gate and up of one.
  const uint outputs = kTileStreams / p.weights;
  const uint first = (at.x * kRowSimdgroups + thread_index / kLanes) * outputs;
  const WeightLayout layout = {p.in, p.weight[0].group, p.weight[0].scale_type, launch.alignment[0]};
  WeightRow weights[kTileStreams];
  for (uint s = 0; s < kTileStreams; ++s) {
    const uint index = s / outputs;
    const ulong stored = ulong(tile.expert) * p.weight[index].rows_per_expert + p.weight[index].first_row +
                         min(first + s % outputs, p.out - 1);
    const uint shift = 6 + 3 * index;
    weights[s] = weight_row<format>((index == 0 ? w0 : w1) + launch.shift[shift], (index == 0 ? s0 : s1) + launch.shift[shift + 1],
                                    (index == 0 ? b0 : b1) + launch.shift[shift + 2], layout, stored);
  }
  float sums[kTileStreams * kTileChoices];
  multiply<format, kTileStreams, kTileChoices>(weights, layout, source, 0, lane, sums);

  // 3. One output per lane.
  float product = 0.0f, up = 0.0f;
  for (uint s = 0; s < kTileStreams; ++s) {
    for (uint r = 0; r < kTileChoices; ++r) {
      const float total = sums[s * kTileChoices + r];
      if (lane != s % outputs * kTileChoices + r) continue;
      if (s < outputs) product = total;
      else up = total;
    }
  }
  const uint output = first + lane / kTileChoices, r = lane % kTileChoices;
  if (lane >= outputs * kTileChoices || output >= p.out || r >= tile.count) return;
  if (p.weights == 2) product = gelu_tanh(product) * up;
  const uint choice = by_place[tile.first_place + r];
  y[ulong(choice / p.top_k) * p.y_stride + choice % p.top_k * p.out + output] = product;
}

template [[host_name("moe_group_8")]] kernel decltype(moe_group<8>) moe_group<8>;
template [[host_name("moe_group_32")]] kernel decltype(moe_group<32>) moe_group<32>;

#define MARKBASE_MOE_TILES(name, format) template [[host_name("moe_tiles_" #name)]] kernel decltype(moe_tiles<format>) moe_tiles<format>;

MARKBASE_MOE_TILES(q2, 2)
MARKBASE_MOE_TILES(q3, 3)
MARKBASE_MOE_TILES(q4, 4)
MARKBASE_MOE_TILES(q5, 5)
MARKBASE_MOE_TILES(q6, 6)
MARKBASE_MOE_TILES(q8, 8)
MARKBASE_MOE_TILES(mxfp4, kFormatMxfp4)
MARKBASE_MOE_TILES(mxfp8, kFormatMxfp8)
MARKBASE_MOE_TILES(nvfp4, kFormatNvfp4)
MARKBASE_MOE_TILES(bf16, kFormatBf16)
MARKBASE_MOE_TILES(f16, kFormatF16)
MARKBASE_MOE_TILES(f32, kFormatF32)
