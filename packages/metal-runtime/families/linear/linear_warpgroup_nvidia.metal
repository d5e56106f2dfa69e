/**
 * linear_warpgroup: linear_wide with products of four simdgroups together (wgmma), for compute capability 9.0.
 *
 * A threadgroup of two warpgroups computes rows × 128 outputs, every warpgroup all rows of 64 outputs. Rows and codes are copied to
 * threadgroup memory as for linear_wide. The weights are the left operand of the products, from registers: lanes convert the codes of the
 * next stage while the tensor cores multiply the previous one, whose rows they read directly from threadgroup memory. Sums run over the
 * columns in ascending stages, in float32.
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
#include "nvidia/warpgroup.h"

/** Converts a lane's stored weights of any format to bf16. */
template <typename W, int format>
struct WeightMaker {
  uint lane;
  uint simdgroup;
  uint group_shift;  ///< spans of a group, as a power of two
  uint is_odd;       ///< the lane's rows of scales begin in the middle of a word: a row has an odd number of scales

  void make(threadgroup const uchar* stage, uint span, thread StageWeights& weights) const {
    constexpr int count = W::is_affine ? W::words : 4;
    const uint selector = ((is_odd ^ (span >> group_shift)) & 1) != 0 ? 0x3232 : 0x1010;
#pragma unroll
    for (uint j = 0; j < 2; ++j) {
      const uint output = simdgroup * 16 + 8 * j + lane / 4;
      threadgroup const uchar* codes = stage + W::codes_at + output * W::span_bytes;
      uint words[count], scale = 0, bias = 0;
      if (W::is_affine) {
        threadgroup const uint* scalars = (threadgroup const uint*)(stage + W::scales_at);
        scale = nvidia::select_bytes(scalars[output], 0, selector);
        bias = nvidia::select_bytes(scalars[W::outputs + output], 0, selector);
        read_words<count>(codes + lane % 4 * (4 * count), words);
      }
#pragma unroll
      for (int m = 0; m < kProducts; ++m) {
        if (!W::is_affine && m % 2 == 0) read_words<count>(codes + ((lane % 4 * 2 + m / 2) ^ (output % 2)) * 16, words);
        uint pairs[2];
        weight_pairs<format>(words, m, scale, bias, pairs);
        weights.pairs[m][j] = pairs[0];
        weights.pairs[m][2 + j] = pairs[1];
      }
    }
  }
};

template <int format, uint rows>
kernel void linear_warpgroup(MARKBASE_WIDE_ARGUMENTS) {
  using W = WideTile<format, rows, 4, MARKBASE_WARPGROUP_THREADS>;
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  const Tile tile = tile_at<W::rows, W::outputs>(p, uint2(at.x, at.y));
  StageSource<W> source;
  source.begin(p, launch, x, bound, tile, thread_index);

  const uint all = wide_columns(p.in) / MARKBASE_WIDE_COLUMNS, share = (all + grid.z - 1) / grid.z;
  const uint begin = min(at.z * share, all), end = min(begin + share, all);
  float sums[rows / 2];
#pragma unroll
  for (uint i = 0; i < rows / 2; ++i) sums[i] = 0.0f;
  if (begin < end) {
    const uint groups = W::is_affine ? p.in / p.weight[tile.weight].group : 0;
    const uint lane = thread_index % 32;
    const WeightMaker<W, format> maker = {lane, thread_index / 32, source.group_shift, lane / 4 & groups};
    multiply_spans<W>(source, maker, begin, end, memory, thread_index, sums);
  }
  place_sums<W>(memory, thread_index, sums);
  store_products<W>(p, launch, bound, tile, (threadgroup const float*)memory, operand, shares, at, grid, thread_index);
}

#define MARKBASE_LINEAR_WARPGROUP(name, format)                                                                                      \
  template [[host_name("linear_warpgroup256_" #name)]] kernel decltype(linear_warpgroup<format, 256>) linear_warpgroup<format, 256>; \
  template [[host_name("linear_warpgroup128_" #name)]] kernel decltype(linear_warpgroup<format, 128>) linear_warpgroup<format, 128>; \
  template [[host_name("linear_warpgroup64_" #name)]] kernel decltype(linear_warpgroup<format, 64>) linear_warpgroup<format, 64>;

MARKBASE_LINEAR_WARPGROUP(q2, 2)
MARKBASE_LINEAR_WARPGROUP(q4, 4)
MARKBASE_LINEAR_WARPGROUP(q6, 6)
MARKBASE_LINEAR_WARPGROUP(q8, 8)
MARKBASE_LINEAR_WARPGROUP(bf16, kFormatBf16)
