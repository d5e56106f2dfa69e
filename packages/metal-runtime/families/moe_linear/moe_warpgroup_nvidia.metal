/**
 * moe_warpgroup: products of many rows with the experts that they chose, by wgmma, in `fast`, for 4-bit codes in groups of 64. Rows come
 * from moe_cores_prepare, tiles from moe_sort, with one choice of an expert per row of a tile.
 *
 * A threadgroup multiplies a tile with 128 weight rows. Rows are stored as words of eight columns, in pairs of columns four apart; a
 * product takes two words of each, so that lane l of four needs codes l and l + 4 of every word of its weight rows. Sums run over the
 * columns in ascending stages.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "linear/linear_wide_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_experts.h"
#include "expert_tiles_nvidia.h"
#include "nvidia/wide_tile.h"
#include "nvidia/warpgroup.h"

/** A weight row of a tile: gates and ups of the same outputs alternate, sixteen each. */
struct ExpertOutput {
  uint weight;
  uint output;
};

inline ExpertOutput expert_output(bool is_pair, uint first, uint row) {
  if (!is_pair) return {0, first + row};
  return {row / 16 % 2, first + row / 32 * 16 + row % 16};
}

/** The bound weights of a moe_linear. */
struct StoredExperts {
  device const uchar *w0, *s0, *b0, *w1, *s1, *b1;
  uint expert;

  /** Index of the row for an output among the rows of all experts; beyond the end, the last one is repeated. */
  ulong row(constant MoeLinearParams& p, ExpertOutput at) const {
    return ulong(expert) * p.weight[at.weight].rows_per_expert + p.weight[at.weight].first_row + min(at.output, p.out - 1);
  }
};

/** Source of a thread's copies into stages: 16 bytes of several rows and of a weight row, and a scale or a bias. */
template <typename W>
struct ExpertSource {
  device const uchar* rows[W::rows * 8 / W::threads];
  device const uchar* codes;
  device const uchar* scalars;

  void copy(threadgroup uchar* stage, uint span, uint thread_index) const {
    const uint row = thread_index / 8, piece = thread_index % 8;
    threadgroup uchar* to = stage + row * kRowSpan + (piece ^ row % 8) * 16;
#pragma unroll
    for (uint i = 0; i < W::rows * 8 / W::threads; ++i) nvidia::copy_16(to + i * (W::threads * 16), rows[i] + span * kRowSpan);
    nvidia::copy_16(stage + W::codes_at + thread_index * 16, codes + span * W::span_bytes);
    // The word that contains the scalar.
    const ulong at = ulong(scalars) + 2 * span;
    nvidia::copy_4(stage + W::scales_at + thread_index * 4, scalars + 2 * span - (at & 2));
  }
};

/** Converts a lane's 4-bit codes to bf16. */
template <typename W>
struct ExpertMaker {
  uint lane;
  uint simdgroup;
  uint is_odd[2];  ///< scales of the lane's weight rows begin in the middle of a word

  void make(threadgroup const uchar* stage, uint span, thread StageWeights& weights) const {
    const uint shift = lane % 4 * 4;
#pragma unroll
    for (uint j = 0; j < 2; ++j) {
      const uint row = simdgroup * 16 + 8 * j + lane / 4, selector = ((is_odd[j] ^ span) & 1) != 0 ? 0x3232 : 0x1010;
      threadgroup const uint* scalars = (threadgroup const uint*)(stage + W::scales_at);
      const uint scale = nvidia::select_bytes(scalars[row], 0, selector),
                 bias = nvidia::select_bytes(scalars[W::outputs + row], 0, selector);
      threadgroup const uint4* codes = (threadgroup const uint4*)(stage + W::codes_at + row * W::span_bytes);
      const uint4 words[2] = {codes[0], codes[1]};
#pragma unroll
      for (int m = 0; m < kProducts; ++m) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          // In bf16, 128 + code has the code in its low bits.
          const uint number = nvidia::masked_or(words[m / 2][m % 2 * 2 + i] >> shift, 0x000f000fu, 0x43004300u);
          weights.pairs[m][2 * i + j] = nvidia::fma_pair(nvidia::fma_pair(number, 0x3f803f80u, 0xc300c300u), scale, bias);
        }
      }
    }
  }
};

/** Stores the products of the choices of a tile, [rows][product_stride] in threadgroup memory. */
template <typename W, bool is_pair>
inline void store_choices(constant MoeLinearParams& p,
                          device float* y,
                          device const uint* choices,
                          uint count,
                          uint first,
                          threadgroup const float* products,
                          uint thread_index) {
  constexpr uint outputs = is_pair ? W::outputs / 2 : W::outputs;
  const uint end = count * outputs;
  for (uint at = thread_index; at < end; at += kFinished * W::threads) {
    float values[kFinished];
#pragma unroll
    for (uint i = 0; i < kFinished; ++i) {
      const uint index = min(at + i * W::threads, end - 1), r = index / outputs, n = index % outputs;
      threadgroup const float* product = products + r * W::product_stride + (is_pair ? n / 16 * 32 + n % 16 : n);
      values[i] = is_pair ? quick_gelu(product[0]) * product[is_pair ? 16 : 0] : product[0];
    }
#pragma unroll
    for (uint i = 0; i < kFinished; ++i) {
      const uint index = at + i * W::threads, output = first + index % outputs;
      if (index >= end || output >= p.out) continue;
      const uint choice = choices[index / outputs];
      y[ulong(choice / p.top_k) * p.y_stride + choice % p.top_k * p.out + output] = values[i];
    }
  }
}

/** Grid: blocks of outputs × tiles. */
template <uint tile_choices>
kernel void moe_warpgroup(constant MoeLinearParams& p [[buffer(0)]],
                          constant Launch& launch [[buffer(1)]],
                          device const uchar* prepared [[buffer(3)]],
                          device const uchar* w0 [[buffer(8)]],
                          device const uchar* s0 [[buffer(9)]],
                          device const uchar* b0 [[buffer(10)]],
                          device const uchar* w1 [[buffer(11)]],
                          device const uchar* s1 [[buffer(12)]],
                          device const uchar* b1 [[buffer(13)]],
                          device float* y [[buffer(14)]],
                          device const uint4* groups [[buffer(22)]],
                          threadgroup uchar* memory [[threadgroup(0)]],
                          uint2 at [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
  using W = WideTile<4, tile_choices, 4, MARKBASE_WARPGROUP_THREADS>;
  const uint4 tile = groups[at.y];
  const uint count = tile.z;
  if (count == 0) return;
  const uint choice_count = launch.rows * p.top_k, choices_of_item = p.has_slices != 0 ? 1 : p.top_k;
  device const uint* choices = (device const uint*)(groups + most_tiles<tile_choices>(choice_count, p.experts)) + tile.y;
  const bool is_pair = p.weights == 2;
  const uint first = at.x * (is_pair ? W::outputs / 2 : W::outputs), groups_of_row = p.in / kGroupColumns;
  const StoredExperts stored = {w0, s0, b0, w1, s1, b1, tile.x};

  ExpertSource<W> source;
#pragma unroll
  for (uint i = 0; i < W::rows * 8 / W::threads; ++i) {
    // Beyond the end, the last choice is repeated.
    const uint item = choices[min(thread_index / 8 + i * (W::threads / 8), count - 1)] / choices_of_item;
    source.rows[i] = prepared + ulong(item) * units_of(p.in) * (kUnitWords * 16) + thread_index % 8 * 16;
  }
  const ExpertOutput own = expert_output(is_pair, first, thread_index / 2);
  source.codes = (own.weight == 0 ? stored.w0 : stored.w1) + stored.row(p, own) * (p.in / 2) + thread_index % 2 * 16;
  const ExpertOutput scaled = expert_output(is_pair, first, thread_index % W::outputs);
  const bool is_up = scaled.weight != 0;
  device const uchar* scales = is_up ? s1 + launch.shift[10] : s0 + launch.shift[7];
  device const uchar* biases = is_up ? b1 + launch.shift[11] : b0 + launch.shift[8];
  source.scalars = (thread_index < W::outputs ? scales : biases) + stored.row(p, scaled) * groups_of_row * 2;

  ExpertMaker<W> maker = {thread_index % 32, thread_index / 32, {0, 0}};
#pragma unroll
  for (uint j = 0; j < 2; ++j) {
    const uint row = maker.simdgroup * 16 + 8 * j + maker.lane / 4;
    maker.is_odd[j] = uint(stored.row(p, expert_output(is_pair, first, row))) & groups_of_row;
  }
  float sums[W::rows / 2];
#pragma unroll
  for (uint i = 0; i < W::rows / 2; ++i) sums[i] = 0.0f;
  multiply_spans<W>(source, maker, 0, groups_of_row, memory, thread_index, sums);
  place_sums<W>(memory, thread_index, sums);
  threadgroup const float* products = (threadgroup const float*)memory;
  if (is_pair) store_choices<W, true>(p, y, choices, count, first, products, thread_index);
  else store_choices<W, false>(p, y, choices, count, first, products, thread_index);
}

template [[host_name("moe_warpgroup64")]] kernel decltype(moe_warpgroup<64>) moe_warpgroup<64>;
template [[host_name("moe_warpgroup128")]] kernel decltype(moe_warpgroup<128>) moe_warpgroup<128>;
