/**
 * linear_cores: linear for a few rows on the tensor cores, in `fast`. It reads a weight once for up to 32 rows.
 *
 * Outputs are the rows of the products, 16 at a time: their codes are loaded from device memory straight into registers. The order of the
 * columns in a product is free, so a lane takes 16 adjacent columns of every 64. Codes are exact in bf16 (4-bit codes as 128 + code); the
 * sums of a group are multiplied by its scale, and its bias times the sum of the row is added, in float32. Small floats are multiplied by
 * their scales first, which is exact too (small_float_pairs.h). The rows are rounded to bf16 (packed_rows.h).
 *
 * The columns are divided over the eight simdgroups of a threadgroup, several spans of 64 at a time, and the partial sums are added in the
 * order of the columns: among kernels with the same chunk size, the bits of a row do not depend on the other rows. Weights are loaded one
 * chunk ahead, the first one before the step's inputs are ready. Scales and biases are bf16 and weight rows begin at multiples of 16 bytes,
 * so that no branch separates the loads. linear_whole loads all scales of a chunk together: it needs groups of 64 columns and rows of
 * a multiple of 256. With such weights, up to 16 rows use linear_stream, which is faster and needs more threadgroup memory.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "nvidia/packed_rows.h"
#include "nvidia/bound_weights.h"
#include "nvidia/small_float_pairs.h"

/** Weight rows of a product. */
constant constexpr uint kTile = 16;

/** Bits of a stored column. */
template <int format>
constexpr int column_bits() {
  return format == kFormatBf16 ? 16 : code_bits<format>();
}

/** Words of the 16 columns of a lane: codes of 2, 4, 6 or 8 bits, small floats, or bf16. */
template <int format>
constexpr int lane_words() {
  return column_bits<format>() / 2;
}

/** True when rows have the order of columns that four_bit_pairs has. */
template <int format>
constexpr bool is_interleaved() {
  return column_bits<format>() == 4;
}

/** Spans of a chunk, whose loads are issued together. */
template <int format, int tiles>
constexpr uint chunk_spans() {
  return (lane_words<format>() <= 2 ? 4 : 2) / tiles;
}

/** Codes 4 m .. 4 m + 3 of a lane as two pairs. */
template <int format>
inline void code_pairs(thread const uint* words, int m, thread uint& first, thread uint& second) {
  if (format == kFormatBf16) {
    first = words[2 * m];
    second = words[2 * m + 1];
  } else if (is_small_float<format>()) {
    small_float_pairs<format>(words, m, first, second);
  } else if (format == 4) {
    four_bit_pairs(words[m / 2] >> (m % 2 * 8), first, second);
  } else {
    constexpr int bits = format <= 8 ? format : 8;
    first = nvidia::bf16_pair(code_at<bits>(words, 4 * m), code_at<bits>(words, 4 * m + 1));
    second = nvidia::bf16_pair(code_at<bits>(words, 4 * m + 2), code_at<bits>(words, 4 * m + 3));
  }
}

/** Offset that is added to a code of `format` when it is converted to bf16. */
template <int format>
constexpr float code_offset() {
  return format == 4 ? 128.0f : 0.0f;
}

/** The words of a lane, aligned to their size, up to 16 bytes. */
template <int words>
inline void load_lane(device const uchar* at, thread uint* out) {
  constexpr int step = words % 4 == 0 ? 4 : words == 2 ? 2 : 1;
#pragma unroll
  for (int i = 0; i < words; i += step) nvidia::load_weights<step>(at + 4 * i, out + i);
}

/** Scales or biases of the spans of a chunk: two per word for `whole` rows, else one. */
template <uint spans, bool whole>
struct ChunkScalars {
  uint words[spans];

  void load(device const uchar* base, uint begin, uint last, uint group) {
    if (whole) {
      nvidia::load_weights<(spans + 1) / 2>(base + 2 * begin, words);
    } else {
      for (uint a = 0; a < spans; ++a) words[a] = nvidia::load_weight_scalar(base + 2 * (min(begin + a, last) * kSpan / group));
    }
  }
  float at(uint a) const {
    if (whole) return as_type<float>(a % 2 == 0 ? words[a / 2] << 16 : words[a / 2] & 0xffff0000u);
    return as_type<float>(words[a] << 16);
  }
};

/** A lane's part of several spans: its two weight rows of every tile. */
template <int format, int tiles, bool whole>
struct Chunk {
  uint codes[chunk_spans<format, tiles>()][2 * tiles][lane_words<format>()];
  uint small_scales[is_small_float<format>() ? chunk_spans<format, tiles>() : 1][2 * tiles];
  ChunkScalars<chunk_spans<format, tiles>(), whole> scales[2 * tiles], biases[2 * tiles];

  /** Spans from `begin` on; beyond the end, the last one is repeated. */
  void load(thread const WeightRow (&weight)[2 * tiles], uint begin, uint last, uint group) {
    constexpr int words = lane_words<format>();
#pragma unroll
    for (int i = 0; i < 2 * tiles; ++i) {
      device const uchar* first = weight[i].data + begin * (words * 16);
#pragma unroll
      for (uint a = 0; a < chunk_spans<format, tiles>(); ++a) {
        const uint offset = whole ? a : min(a, last - begin);
        load_lane<words>(first + offset * (words * 16), codes[a][i]);
        if (!is_small_float<format>()) continue;
        small_scales[a][i] = load_span_scales<format>(weight[i].scales, begin + offset);
      }
    }
    if (format > 8) return;
#pragma unroll
    for (int i = 0; i < 2 * tiles; ++i) {
      scales[i].load(weight[i].scales, begin, last, group);
      biases[i].load(weight[i].biases, begin, last, group);
    }
  }

  /** sums[i][b] += the products of tile i with the eight rows of block b, first_row + 8 b and so on. */
  template <int blocks, typename X>
  void multiply(X x, uint begin, uint spans, uint first_row, uint lane, thread float (&sums)[tiles][blocks][4]) const {
    constexpr bool is_affine = format <= 8;
    const auto cursor = x.cursor(begin, first_row, lane);
#pragma unroll
    for (uint a = 0; a < chunk_spans<format, tiles>(); ++a) {
      const bool exists = whole || begin + a < spans;
      const uint offset = whole ? a : min(a, spans - 1 - begin);
      uint pairs[blocks][8];
      float2 totals[blocks];
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        cursor.load(offset, b, pairs[b]);
        if (is_affine) totals[b] = cursor.totals(offset, b);
      }
#pragma unroll
      for (int i = 0; i < tiles; ++i) {
        uint rows[4][4], factors[2];
        for (int k = 0; k < 2 && is_small_float<format>(); ++k) {
          factors[k] = scale_pair<format>(small_scales[a][2 * i + k], lane, codes[a][2 * i + k]);
        }
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          code_pairs<format>(codes[a][2 * i], m, rows[m][0], rows[m][2]);
          code_pairs<format>(codes[a][2 * i + 1], m, rows[m][1], rows[m][3]);
          for (int k = 0; k < 4 && is_small_float<format>(); ++k) rows[m][k] = nvidia::fma_pair(rows[m][k], factors[k % 2], kNoAddend);
          for (int k = 0; k < 4 && !is_affine; ++k) rows[m][k] = exists ? rows[m][k] : 0;
        }
#pragma unroll
        for (int b = 0; b < blocks; ++b) {
          float products[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            const uint outputs[2] = {pairs[b][2 * m], pairs[b][2 * m + 1]};
            if (is_affine) nvidia::multiply_accumulate(products, rows[m], outputs);
            else nvidia::multiply_accumulate(sums[i][b], rows[m], outputs);
          }
#pragma unroll
          for (int k = 0; k < 4 && is_affine; ++k) {
            const float factor = exists ? scales[2 * i + k / 2].at(a) : 0.0f;
            const float bias = exists ? biases[2 * i + k / 2].at(a) : 0.0f;
            const float shift = fma(factor, -code_offset<format>(), bias);
            sums[i][b][k] = fma(factor, products[k], fma(shift, k % 2 == 0 ? totals[b].x : totals[b].y, sums[i][b][k]));
          }
        }
      }
    }
  }
};

/** Outputs of one weight, or of a pair: weight rows 0 .. 8 of a tile are then gate rows, 8 .. 16 the up rows of the same outputs. */
struct CoreBlock {
  bool is_pair;
  uint weight;
  uint first;    ///< output
  uint outputs;  ///< of a tile
};

/** Outputs that the threadgroups of a weight compute concurrently. */
inline uint outputs_of_block(constant LinearParams& p, uint tiles) { return p.epilogue == kLinearGeglu ? 8 * tiles : kTile * tiles; }

/** Blocks of all weights, numbered consecutively. */
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

/** A simdgroup's share of the products of a tile: [16, 8 blocks], or of one row [16]. */
template <int blocks, bool is_row>
inline void place_shares(thread const float (&sums)[blocks][4], threadgroup float* shares, uint lane) {
  if (is_row) {
    if (lane % 4 != 0) return;
    shares[lane / 4] = sums[0][0];
    shares[lane / 4 + 8] = sums[0][2];
    return;
  }
  for (uint b = 0; b < uint(blocks); ++b) {
    for (uint k = 0; k < 4; ++k) shares[(lane / 4 + k / 2 * 8) * 8 * blocks + 8 * b + lane % 4 * 2 + k % 2] = sums[b][k];
  }
}

/** Element `at` of the products of a tile: the sum over the simdgroups, in their order. */
template <uint rows>
inline float add_shares(threadgroup const float* shares, uint at) {
  float total = 0.0f;
  for (uint s = 0; s < kRowSimdgroups; ++s) total += shares[s * kTile * rows + at];
  return total;
}

template <uint rows>
inline void store_shares(constant LinearParams& p,
                         CoreBlock block,
                         uint tile,
                         threadgroup const float* shares,
                         device const float* operand,
                         device float* y,
                         uint first_row,
                         uint row_count,
                         uint thread_index) {
  // Eight or sixteen outputs.
  const uint shift = block.is_pair ? 3 : 4;
  for (uint i = thread_index; i < (rows << shift); i += kRowThreads) {
    const uint r = i >> shift, n = i & (block.outputs - 1);
    const uint row = first_row + r, output = block.first + tile * block.outputs + n;
    if (row >= row_count || output >= p.weight[block.weight].out) continue;
    const float product = add_shares<rows>(shares, n * rows + r);
    const float up = block.is_pair ? add_shares<rows>(shares, (n + 8) * rows + r) : 0.0f;
    y[ulong(row) * p.weight[block.weight].y_stride + output] = finish_product(p, block.weight, product, up, operand, row, output);
  }
}

/**
 * Position of a threadgroup in its sequence of blocks, with the next chunk. `alone`: every simdgroup has its own blocks, with all columns;
 * else the simdgroups of a threadgroup divide the columns of a block.
 */
template <int format, int tiles, bool whole, bool alone>
struct BlockWalk {
  static constexpr uint kStride = (alone ? 1 : kRowSimdgroups) * chunk_spans<format, tiles>();
  uint block_count, index, step;
  uint lane, slot;  ///< slot: the next share of the columns; simdgroups rotate through the shares, which differ in length
  uint spans, group, row_bytes, scale_bytes;
  CoreBlock block;
  WeightRow weights[2 * tiles];
  Chunk<format, tiles, whole> ahead;

  uint first_span() const { return slot * chunk_spans<format, tiles>(); }
};

/** Begins block `index`, if it exists: sets up its rows and issues the loads of the first chunk. */
template <int format, int tiles, bool whole, bool alone>
inline void enter_block(constant LinearParams& p,
                        constant Launch& launch,
                        BoundWeights bound,
                        uint index,
                        thread BlockWalk<format, tiles, whole, alone>& walk) {
  if (index >= walk.block_count) return;
  walk.block = core_block(p, index, tiles);
  if (!alone) walk.slot = (walk.slot + 1) % kRowSimdgroups;
#pragma unroll
  for (uint i = 0; i < 2 * tiles; ++i) {
    const uint weight = walk.block.is_pair ? i % 2 : walk.block.weight;
    const uint output = walk.block.first + i / 2 * walk.block.outputs + walk.lane / 4 + (walk.block.is_pair ? 0 : i % 2 * 8);
    // Beyond the end, the last output is repeated and not stored.
    walk.weights[i] = bound.row(launch, weight, min(output, p.weight[weight].out - 1), walk.row_bytes, walk.scale_bytes);
    walk.weights[i].data += walk.lane % 4 * (lane_words<format>() * 4);
  }
  if (walk.first_span() < walk.spans) walk.ahead.load(walk.weights, walk.first_span(), walk.spans - 1, walk.group);
}

/** Issues the loads of the first chunk. */
template <int format, int tiles, bool whole, bool alone>
inline void begin_walk(constant LinearParams& p,
                       constant Launch& launch,
                       BoundWeights bound,
                       uint index,
                       uint step,
                       uint thread_index,
                       thread BlockWalk<format, tiles, whole, alone>& walk) {
  walk.block_count = count_blocks(p, tiles);
  walk.index = alone ? index * kRowSimdgroups + thread_index / kLanes : index;
  walk.step = alone ? step * kRowSimdgroups : step;
  walk.lane = thread_index % kLanes;
  walk.slot = alone ? 0 : thread_index / kLanes;
  walk.spans = p.in / kSpan;
  walk.group = whole ? kSpan : p.weight[0].group;
  walk.row_bytes = p.in / 8 * column_bits<format>();
  walk.scale_bytes = format == kFormatBf16 ? 0 : p.in / walk.group * (is_small_float<format>() ? 1 : 2);
  enter_block(p, launch, bound, walk.index, walk);
}

/** sums = the products of the current block of `walk`, over the simdgroup's columns; advances `walk` to the next block. */
template <int blocks, int format, int tiles, bool whole, bool alone, typename X>
inline void multiply_block(constant LinearParams& p,
                           constant Launch& launch,
                           BoundWeights bound,
                           X x,
                           uint first_row,
                           thread BlockWalk<format, tiles, whole, alone>& walk,
                           thread float (&sums)[tiles][blocks][4]) {
  constexpr uint stride = BlockWalk<format, tiles, whole, alone>::kStride;
  uint begin = walk.first_span();
  // Two buffers alternate, so that no chunk is copied.
  Chunk<format, tiles, whole> other;
  while (begin + stride < walk.spans) {
    other.load(walk.weights, begin + stride, walk.spans - 1, walk.group);
    walk.ahead.template multiply<blocks>(x, begin, walk.spans, first_row, walk.lane, sums);
    begin += stride;
    if (begin + stride >= walk.spans) {
      walk.ahead = other;
      break;
    }
    walk.ahead.load(walk.weights, begin + stride, walk.spans - 1, walk.group);
    other.template multiply<blocks>(x, begin, walk.spans, first_row, walk.lane, sums);
    begin += stride;
  }
  const Chunk<format, tiles, whole> last = walk.ahead;
  enter_block(p, launch, bound, walk.index + walk.step, walk);
  if (begin < walk.spans) last.template multiply<blocks>(x, begin, walk.spans, first_row, walk.lane, sums);
}

/** Multiplies the rows of `x` from first_row on, all simdgroups together. `shares`: 2 × [8, 16, rows]. */
template <int blocks, bool is_row, int format, int tiles, bool whole, typename X>
inline void multiply_together(constant LinearParams& p,
                              constant Launch& launch,
                              BoundWeights bound,
                              device const float* operand,
                              X x,
                              uint first_row,
                              uint row_count,
                              threadgroup float* shares,
                              uint thread_index,
                              thread BlockWalk<format, tiles, whole, false>& walk) {
  constexpr uint rows = is_row ? 1 : 8 * blocks;
  bool is_odd = false;
  for (; walk.index < walk.block_count; walk.index += walk.step) {
    const CoreBlock current = walk.block;
    const uint slot = walk.slot;
    float sums[tiles][blocks][4] = {};
    multiply_block<blocks>(p, launch, bound, x, first_row, walk, sums);
#pragma unroll
    for (uint i = 0; i < tiles; ++i) {
      threadgroup float* own = shares + (is_odd ? kRowSimdgroups * kTile * rows : 0);
      is_odd = !is_odd;
      place_shares<blocks, is_row>(sums[i], own + slot * kTile * rows, walk.lane);
      // Double-buffered: the storing threads still read these while the next ones are written.
      threadgroup_barrier(mem_flags::mem_threadgroup);
      store_shares<rows>(p, current, i, own, operand, bound.output(current.weight), first_row, row_count, thread_index);
    }
  }
}

/** Multiplies up to eight rows from first_row on, every simdgroup for itself. */
template <bool is_row, int format, bool whole, typename X>
inline void multiply_alone(constant LinearParams& p,
                           constant Launch& launch,
                           BoundWeights bound,
                           device const float* operand,
                           X x,
                           uint first_row,
                           uint row_count,
                           thread BlockWalk<format, 1, whole, true>& walk) {
  for (; walk.index < walk.block_count; walk.index += walk.step) {
    const CoreBlock current = walk.block;
    const uint lane = walk.lane;
    float sums[1][1][4] = {};
    multiply_block<1>(p, launch, bound, x, first_row, walk, sums);
    device float* y = bound.output(current.weight);
    const uint stride = p.weight[current.weight].y_stride, out = p.weight[current.weight].out;
#pragma unroll
    for (uint k = 0; k < 4; ++k) {
      // A lane has two rows of a product, k % 2, and two weight rows, k / 2: in a pair, these are gate and up.
      const uint row = is_row ? lane % 4 * 2 + k % 2 : first_row + lane % 4 * 2 + k % 2;
      const uint output = current.first + lane / 4 + k / 2 * 8;
      if (row >= row_count || output >= out || (current.is_pair && k >= 2)) continue;
      y[ulong(row) * stride + output] = finish_product(p, current.weight, sums[0][0][k], sums[0][0][k % 2 + 2], operand, row, output);
    }
  }
}

/** Up to 8 `blocks` packed rows. Grid: blocks of outputs × blocks of rows. */
template <int format, int tiles, int blocks, bool whole, bool alone>
kernel void linear_cores(MARKBASE_CORES_ARGUMENTS) {
  threadgroup float shares[alone ? 1 : 2 * kRowSimdgroups * kTile * 8 * blocks];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  BlockWalk<format, tiles, whole, alone> walk;
  begin_walk(p, launch, bound, at.x, groups.x, thread_index, walk);
  nvidia::wait_for_inputs();
  const DevicePack source = {(device uint*)x, p.in, groups.y * 8 * blocks};
  const uint first_row = at.y * 8 * blocks;
  if constexpr (alone) multiply_alone<false>(p, launch, bound, operand, source, first_row, launch.rows, walk);
  else multiply_together<blocks, false>(p, launch, bound, operand, source, first_row, launch.rows, shares, thread_index, walk);
}

/** One row, which every threadgroup packs for itself. `packed`: the row. */
template <int format, bool alone>
kernel void linear_cores_row(MARKBASE_CORES_ARGUMENTS, threadgroup uint* packed [[threadgroup(0)]]) {
  threadgroup float partial[kRowSimdgroups];
  threadgroup float shares[alone ? 1 : 2 * kRowSimdgroups * kTile];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  BlockWalk<format, 1, false, alone> walk;
  begin_walk(p, launch, bound, at.x, groups.x, thread_index, walk);
  nvidia::wait_for_inputs();
  const ulong row = p.gathers != 0 ? output_row[0] : 0;
  const SharedPack source = {packed, p.in};
  const PackSource prologue = {
      x + row * p.x_stride, residual + row * p.residual_stride, residual_gain + launch.shift[2], h, norm_gain + launch.shift[4], at.x == 0};
  pack_row(p, prologue, PairWriter<is_interleaved<format>(), SharedPack>{source}, partial, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if constexpr (alone) multiply_alone<true>(p, launch, bound, operand, source, 0, 1, walk);
  else multiply_together<1, true>(p, launch, bound, operand, source, 0, 1, shares, thread_index, walk);
}

/** Packs rows for linear_cores, one threadgroup per row, and zeros for the rows that pad the last block of eight. */
template <bool interleaves>
kernel void linear_pack(constant LinearParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const float* x [[buffer(2)]],
                        device const float* residual [[buffer(3)]],
                        device const uchar* residual_gain [[buffer(4)]],
                        device float* h [[buffer(5)]],
                        device const uchar* norm_gain [[buffer(6)]],
                        device uint* packed [[buffer(22)]],
                        device const int* output_row [[buffer(24)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint rows [[threadgroups_per_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[kRowSimdgroups];
  const DevicePackRow out = {{packed, p.in, rows}, row};
  if (row >= launch.rows) {
    for (uint quad = thread_index; quad < p.in / 4; quad += kRowThreads) out.store(quad, uint2(0));
    for (uint span = thread_index; span < p.in / kSpan; span += kRowThreads) out.store_total(span, 0.0f);
    return;
  }
  const ulong from = p.gathers != 0 ? output_row[row] : row;
  const PackSource prologue = {x + from * launch.x_stride,  residual + from * p.residual_stride, residual_gain + launch.shift[2],
                               h + ulong(row) * p.h_stride, norm_gain + launch.shift[4],         true};
  pack_row(p, prologue, PairWriter<interleaves, DevicePackRow>{out}, partial, thread_index);
}

template [[host_name("linear_pack_q4")]] kernel decltype(linear_pack<true>) linear_pack<true>;
template [[host_name("linear_pack")]] kernel decltype(linear_pack<false>) linear_pack<false>;

#define MARKBASE_LINEAR_CORES(name, format)                                                                                            \
  template [[host_name("linear_cores_row_" #name)]] kernel decltype(linear_cores_row<format, false>) linear_cores_row<format, false>;  \
  template [[host_name("linear_cores_each_" #name)]] kernel decltype(linear_cores_row<format, true>) linear_cores_row<format, true>;   \
  template [[host_name(                                                                                                                \
      "linear_cores8_" #name)]] kernel decltype(linear_cores<format, 1, 1, false, false>) linear_cores<format, 1, 1, false, false>;    \
  template [[host_name(                                                                                                                \
      "linear_cores_each8_" #name)]] kernel decltype(linear_cores<format, 1, 1, false, true>) linear_cores<format, 1, 1, false, true>; \
  template [[host_name(                                                                                                                \
      "linear_cores16_" #name)]] kernel decltype(linear_cores<format, 2, 2, false, false>) linear_cores<format, 2, 2, false, false>;   \
  template [[host_name(                                                                                                                \
      "linear_cores32_" #name)]] kernel decltype(linear_cores<format, 2, 4, false, false>) linear_cores<format, 2, 4, false, false>;

MARKBASE_LINEAR_CORES(q2, 2)
MARKBASE_LINEAR_CORES(q4, 4)
MARKBASE_LINEAR_CORES(q6, 6)
MARKBASE_LINEAR_CORES(q8, 8)
MARKBASE_LINEAR_CORES(mxfp4, kFormatMxfp4)
MARKBASE_LINEAR_CORES(mxfp8, kFormatMxfp8)
MARKBASE_LINEAR_CORES(nvfp4, kFormatNvfp4)
MARKBASE_LINEAR_CORES(bf16, kFormatBf16)
template [[host_name("linear_whole32_q4")]] kernel decltype(linear_cores<4, 2, 4, true, false>) linear_cores<4, 2, 4, true, false>;
