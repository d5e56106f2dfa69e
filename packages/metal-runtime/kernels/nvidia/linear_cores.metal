/**
 * linear_cores: linear for few rows by the tensor cores, in `fast`. It reads a weight once for up to 32 rows.
 *
 * Outputs are the rows of the products, 16 at a time: their codes go from memory to the tensor cores without threadgroup memory
 * between. The order of the columns in a product is free, so that a lane takes 16 neighbours of every 64. Codes are numbers of
 * bf16 exactly (those of 4 bits as 128 + code); the sums of a group get its scale, and its bias times the sum of the row, in
 * float32. The rows are rounded to bf16.
 *
 * The eight simdgroups of a threadgroup share the columns, 256 at a time, and add up in their order: a row gives the same bits
 * whatever rows are beside it.
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

/** Columns that a simdgroup multiplies at once; a group of codes has a multiple of them. */
constant constexpr uint kSpan = 64;
/** Spans whose codes are loaded together. */
constant constexpr uint kAhead = 4;
/** Weight rows of a product. */
constant constexpr uint kTile = 16;

/** Words of the 16 columns of a lane: codes of 2, 4, 6 or 8 bits, or numbers of bf16. */
template <int format>
constexpr int lane_words() {
  return format <= 8 ? format / 2 : 8;
}

/** Codes 4 m .. 4 m + 3 of a lane as two pairs; of 4 bits, those that lie four apart in a word make a pair. */
template <int format>
inline void code_pairs(thread const uint* words, int m, thread uint& first, thread uint& second) {
  if (format == kFormatBf16) {
    first = words[2 * m];
    second = words[2 * m + 1];
  } else if (format == 4) {
    const uint word = words[m / 2] >> (m % 2 * 8);
    first = (word & 0x000f000fu) | 0x43004300u;
    second = (word >> 4 & 0x000f000fu) | 0x43004300u;
  } else {
    constexpr int bits = format <= 8 ? format : 8;
    first = nvidia::bf16_pair(code_at<bits>(words, 4 * m), code_at<bits>(words, 4 * m + 1));
    second = nvidia::bf16_pair(code_at<bits>(words, 4 * m + 2), code_at<bits>(words, 4 * m + 3));
  }
}

/** What is added to a code of `format` to make a number of bf16. */
template <int format>
constexpr float code_offset() {
  return format == 4 ? 128.0f : 0.0f;
}

/** Columns column .. column + 16 of a row as pairs, in the order of code_pairs; zeros of a row that does not exist. */
template <int format, typename X>
inline void load_pairs(X x, uint row, bool exists, uint column, thread uint* pairs) {
  for (int i = 0; i < 8; ++i) pairs[i] = 0;
  if (!exists) return;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const float4 low = x.quad(row, column + 8 * j), high = x.quad(row, column + 8 * j + 4);
    thread uint* out = pairs + 4 * j;
    if (format == 4) {
      out[0] = nvidia::bf16_pair(low.x, high.x);
      out[1] = nvidia::bf16_pair(low.y, high.y);
      out[2] = nvidia::bf16_pair(low.z, high.z);
      out[3] = nvidia::bf16_pair(low.w, high.w);
    } else {
      out[0] = nvidia::bf16_pair(low.x, low.y);
      out[1] = nvidia::bf16_pair(low.z, low.w);
      out[2] = nvidia::bf16_pair(high.x, high.y);
      out[3] = nvidia::bf16_pair(high.z, high.w);
    }
  }
}

/**
 * sums[i][b] += the products of tile i with rows 8 b .. 8 b + 8 over the columns that are this simdgroup's. `weight`: of every tile,
 * the two weight rows of the lane; the lane's row of block b is first_row + 8 b + lane / 4.
 */
template <int format, int tiles, int blocks, typename X>
inline void multiply_by_cores(thread const WeightRow* weight, WeightLayout layout, X x, uint first_row, uint row_count,
                              uint lane, uint simdgroup, thread float (&sums)[tiles][blocks][4]) {
  constexpr bool is_affine = format <= 8;
  constexpr int words = lane_words<format>();
  const uint spans = layout.in / kSpan, own = lane % 4 * 16;
  for (uint begin = simdgroup * kAhead; begin < spans; begin += kRowSimdgroups * kAhead) {
    uint codes[kAhead][2 * tiles][words];
    float scale[kAhead][2 * tiles], bias[kAhead][2 * tiles];
#pragma unroll
    for (uint a = 0; a < kAhead; ++a) {
      // Spans behind the last one are the last one again, and are not multiplied.
      const uint column = min(begin + a, spans - 1) * kSpan;
#pragma unroll
      for (int i = 0; i < 2 * tiles; ++i) {
        load_words<words>(weight[i].data + (column + own) / 16 * (words * 4), layout.alignment, codes[a][i]);
        if (!is_affine) continue;
        scale[a][i] = load_scalar(weight[i].scales, layout.scale_type, column / layout.group);
        bias[a][i] = load_scalar(weight[i].biases, layout.scale_type, column / layout.group);
      }
    }
#pragma unroll
    for (uint a = 0; a < kAhead; ++a) {
      if (begin + a >= spans) break;
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        const uint row = first_row + 8 * b + lane / 4;
        uint pairs[8];
        load_pairs<format>(x, row, row < row_count, (begin + a) * kSpan + own, pairs);
        // The sums of the rows, in every row of a product.
        float totals[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int m = 0; m < 4 && is_affine; ++m) {
          const uint ones[4] = {0x3f803f80u, 0x3f803f80u, 0x3f803f80u, 0x3f803f80u};
          const uint outputs[2] = {pairs[2 * m], pairs[2 * m + 1]};
          nvidia::multiply_accumulate(totals, ones, outputs);
        }
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
          float products[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            uint rows[4];
            code_pairs<format>(codes[a][2 * i], m, rows[0], rows[2]);
            code_pairs<format>(codes[a][2 * i + 1], m, rows[1], rows[3]);
            const uint outputs[2] = {pairs[2 * m], pairs[2 * m + 1]};
            if (is_affine) nvidia::multiply_accumulate(products, rows, outputs);
            else nvidia::multiply_accumulate(sums[i][b], rows, outputs);
          }
#pragma unroll
          for (int k = 0; k < 4 && is_affine; ++k) {
            const float factor = scale[a][2 * i + k / 2];
            const float shift = fma(factor, -code_offset<format>(), bias[a][2 * i + k / 2]);
            sums[i][b][k] = fma(factor, products[k], fma(shift, totals[k], sums[i][b][k]));
          }
        }
      }
    }
  }
}

/** Outputs of one weight, or of a pair: then weight rows 0 .. 8 of a tile are the gate's, 8 .. 16 the same outputs of up. */
struct CoreBlock {
  bool is_pair;
  uint weight;
  uint first;    ///< output
  uint outputs;  ///< of a tile
};

/** Outputs that the threadgroups of a weight make at once. */
inline uint outputs_of_block(constant LinearParams& p, uint tiles) { return p.epilogue == kLinearGeglu ? 8 * tiles : kTile * tiles; }

/** Blocks of all weights, which lie side by side. */
inline uint count_blocks(constant LinearParams& p, uint tiles) {
  const uint outputs = outputs_of_block(p, tiles);
  uint blocks = 0;
  for (uint i = 0; i < (p.epilogue == kLinearGeglu ? 1 : p.weights); ++i) blocks += (p.weight[i].out + outputs - 1) / outputs;
  return blocks;
}

inline CoreBlock core_block(constant LinearParams& p, uint block, uint tiles) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint outputs = outputs_of_block(p, tiles);
  uint weight = 0;
  while (!is_pair && weight + 1 < p.weights) {
    const uint blocks = (p.weight[weight].out + outputs - 1) / outputs;
    if (block < blocks) break;
    block -= blocks;
    ++weight;
  }
  return {is_pair, weight, block * outputs, outputs / tiles};
}

#define MARKBASE_CORES_ARGUMENTS                                                                                      \
  constant LinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const float *x [[buffer(2)]], \
      device const float *residual [[buffer(3)]], device const uchar *residual_gain [[buffer(4)]],                   \
      device float *h [[buffer(5)]], device const uchar *norm_gain [[buffer(6)]],                                    \
      device const float *operand [[buffer(7)]], device const uchar *w0 [[buffer(8)]],                               \
      device const uchar *s0 [[buffer(9)]], device const uchar *b0 [[buffer(10)]],                                   \
      device const uchar *w1 [[buffer(11)]], device const uchar *s1 [[buffer(12)]],                                  \
      device const uchar *b1 [[buffer(13)]], device const uchar *w2 [[buffer(14)]],                                  \
      device const uchar *s2 [[buffer(15)]], device const uchar *b2 [[buffer(16)]],                                  \
      device float *y0 [[buffer(17)]], device float *y1 [[buffer(18)]], device float *y2 [[buffer(19)]],             \
      device const int *output_row [[buffer(24)]],                                                                   \
      uint2 at [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],                             \
      uint thread_index [[thread_index_in_threadgroup]]

/** A simdgroup's share of the products of a tile, [16, 8 blocks]. */
template <int blocks>
inline void place_shares(thread const float (&sums)[blocks][4], threadgroup float* shares, uint lane) {
  for (uint b = 0; b < uint(blocks); ++b) {
    for (uint k = 0; k < 4; ++k) shares[(lane / 4 + k / 2 * 8) * 8 * blocks + 8 * b + lane % 4 * 2 + k % 2] = sums[b][k];
  }
}

/** Element `at` of the products of a tile: what the simdgroups made of it, in their order. */
template <int blocks>
inline float add_shares(threadgroup const float* shares, uint at) {
  float total = 0.0f;
  for (uint s = 0; s < kRowSimdgroups; ++s) total += shares[s * kTile * 8 * blocks + at];
  return total;
}

template <int blocks>
inline void store_shares(constant LinearParams& p, CoreBlock block, uint tile, threadgroup const float* shares,
                         device const float* operand, device float* y, uint first_row, uint row_count, uint thread_index) {
  constexpr uint rows = 8 * blocks;
  for (uint i = thread_index; i < block.outputs * rows; i += kRowThreads) {
    const uint r = i / block.outputs, n = i % block.outputs;
    const uint row = first_row + r, output = block.first + tile * block.outputs + n;
    if (row >= row_count || output >= p.weight[block.weight].out) continue;
    const float product = add_shares<blocks>(shares, n * rows + r);
    const float up = block.is_pair ? add_shares<blocks>(shares, (n + 8) * rows + r) : 0.0f;
    y[ulong(row) * p.weight[block.weight].y_stride + output] = finish_product(p, block.weight, product, up, operand, row, output);
  }
}

/** The weights of a linear and its outputs, as the kernels are bound to them. */
struct BoundWeights {
  device const uchar *w0, *s0, *b0, *w1, *s1, *b1, *w2, *s2, *b2;
  device float *y0, *y1, *y2;

  /** Row `row` of weight `index`; behind the last one, the last one again, which is not stored. */
  template <int format>
  WeightRow row(constant LinearParams& p, constant Launch& launch, WeightLayout layout, uint index, uint row) const {
    const uint shift = 6 + 3 * index;
    device const uchar* weight = index == 0 ? w0 : index == 1 ? w1 : w2;
    device const uchar* scales = index == 0 ? s0 : index == 1 ? s1 : s2;
    device const uchar* biases = index == 0 ? b0 : index == 1 ? b1 : b2;
    return weight_row<format>(weight + launch.shift[shift], scales + launch.shift[shift + 1], biases + launch.shift[shift + 2],
                              layout, min(row, p.weight[index].out - 1));
  }
  device float* output(uint index) const { return index == 0 ? y0 : index == 1 ? y1 : y2; }

  /** Row `row` of tile `tile` of a block. */
  template <int format>
  WeightRow row_of_tile(constant LinearParams& p, constant Launch& launch, WeightLayout layout, CoreBlock block, uint tile,
                        uint row) const {
    const uint output = block.first + tile * block.outputs + row % block.outputs;
    return this->row<format>(p, launch, layout, block.is_pair ? row / 8 : block.weight, output);
  }
};

inline WeightLayout layout_of(constant LinearParams& p, constant Launch& launch, CoreBlock block) {
  return {p.in, p.weight[block.weight].group, p.weight[block.weight].scale_type, launch.alignment[block.weight]};
}

/** Has the weight rows of a threadgroup's first block, of one tile, brought nearer while it prepares its row. */
template <int format>
inline void prefetch_block(constant LinearParams& p, constant Launch& launch, BoundWeights bound, uint index, uint thread_index) {
  constexpr uint kLine = 128;
  if (index >= count_blocks(p, 1)) return;
  const CoreBlock block = core_block(p, index, 1);
  const WeightRow weight = bound.row_of_tile<format>(p, launch, layout_of(p, launch, block), block, 0, thread_index % kTile);
  const uint bytes = p.in / 8 * (format <= 8 ? format : 16);
  for (uint at = thread_index / kTile * kLine; at < bytes; at += kRowThreads / kTile * kLine) nvidia::prefetch(weight.data + at);
}

/** Multiplies the rows of `x` from first_row on with every block that falls to this threadgroup. `shares`: [8, 16, 8 blocks]. */
template <int format, int tiles, int blocks, typename X>
inline void multiply_blocks(constant LinearParams& p, constant Launch& launch, BoundWeights bound, device const float* operand,
                            X x, uint first_row, uint row_count, uint first_block, uint block_step, threadgroup float* shares,
                            uint thread_index) {
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint block_count = count_blocks(p, tiles);
  for (uint index = first_block; index < block_count; index += block_step) {
    const CoreBlock block = core_block(p, index, tiles);
    const WeightLayout layout = layout_of(p, launch, block);
    WeightRow weights[2 * tiles];
    for (uint i = 0; i < 2 * tiles; ++i) {
      weights[i] = bound.row_of_tile<format>(p, launch, layout, block, i / 2, lane / 4 + i % 2 * 8);
    }
    float sums[tiles][blocks][4] = {};
    multiply_by_cores<format, tiles, blocks>(weights, layout, x, first_row, row_count, lane, simdgroup, sums);
    for (uint i = 0; i < tiles; ++i) {
      place_shares<blocks>(sums[i], shares + simdgroup * kTile * 8 * blocks, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      store_shares<blocks>(p, block, i, shares, operand, bound.output(block.weight), first_row, row_count, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

#define MARKBASE_BOUND_WEIGHTS {w0, s0, b0, w1, s1, b1, w2, s2, b2, y0, y1, y2}

/** Up to 8 `blocks` rows that need no prologue: blocks of outputs × blocks of rows. */
template <int format, int tiles, int blocks>
kernel void linear_cores(MARKBASE_CORES_ARGUMENTS) {
  threadgroup float shares[kRowSimdgroups * kTile * 8 * blocks];
  const DeviceRows source = {x, launch.x_stride, launch.rows - 1, p.in, launch.x_alignment};
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  multiply_blocks<format, tiles, blocks>(p, launch, bound, operand, source, at.y * 8 * blocks, launch.rows, at.x, groups.x, shares,
                                         thread_index);
}

/** One row, prepared by every threadgroup for itself. `shared_row`: the row. */
template <int format>
kernel void linear_cores_row(MARKBASE_CORES_ARGUMENTS, threadgroup float* shared_row [[threadgroup(0)]]) {
  threadgroup float partial[kRowSimdgroups];
  threadgroup float shares[kRowSimdgroups * kTile * 8];
  const SharedRow<32> source = {shared_row, SharedRow<32>::chunks_of(p.in)};
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  prefetch_block<format>(p, launch, bound, at.x, thread_index);
  const ulong row = p.gathers != 0 ? output_row[0] : 0;
  prepare_row(p, launch.shift[2], launch.shift[4], x + row * p.x_stride, residual + row * p.residual_stride, residual_gain, h,
              at.x == 0, norm_gain, source, partial, thread_index);
  multiply_blocks<format, 1, 1>(p, launch, bound, operand, source, 0, 1, at.x, groups.x, shares, thread_index);
}

#define MARKBASE_LINEAR_CORES(name, format)                                                                          \
  template [[host_name("linear_cores_row_" #name)]] kernel decltype(linear_cores_row<format>) linear_cores_row<format>;  \
  template [[host_name("linear_cores8_" #name)]] kernel decltype(linear_cores<format, 1, 1>) linear_cores<format, 1, 1>;   \
  template [[host_name("linear_cores16_" #name)]] kernel decltype(linear_cores<format, 2, 2>) linear_cores<format, 2, 2>; \
  template [[host_name("linear_cores32_" #name)]] kernel decltype(linear_cores<format, 2, 4>) linear_cores<format, 2, 4>;

MARKBASE_LINEAR_CORES(q2, 2)
MARKBASE_LINEAR_CORES(q4, 4)
MARKBASE_LINEAR_CORES(q6, 6)
MARKBASE_LINEAR_CORES(q8, 8)
MARKBASE_LINEAR_CORES(bf16, kFormatBf16)
