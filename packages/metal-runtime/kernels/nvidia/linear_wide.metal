/**
 * linear_wide: linear for many rows by the tensor cores, in `fast`.
 *
 * A threadgroup of four simdgroups makes rows × outputs; every simdgroup makes all rows of its outputs. Rows, which linear_rows
 * has made, and codes as they are stored come into threadgroup memory some stages of 64 columns ahead. Rows go to the tensor cores
 * as they lie; a lane makes its own numbers of bf16 from the codes, 16 neighbours of a span, so that each code is read and
 * computed once in a threadgroup. Sums run over the columns in ascending stages, in float32.
 *
 * With few tiles, threadgroups share the columns of one: then linear_wide_add adds what they make, in their order.
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

constant constexpr uint kThreads = MARKBASE_WIDE_THREADS;
constant constexpr uint kSimdgroups = kThreads / 32;

/** A tile of 16 row_blocks × 32 output_blocks and its stages. */
template <int format, int row_blocks, int output_blocks>
struct Wide {
  static constexpr uint bits = format <= 8 ? format : 16;
  static constexpr bool is_affine = format <= 8;
  static constexpr uint rows = 16 * row_blocks;
  static constexpr uint outputs = 8 * kSimdgroups * output_blocks;
  static constexpr uint stages = wide_stages(rows, bits);
  static constexpr uint stage_bytes = wide_stage_bytes(rows, outputs, bits);
  static constexpr uint codes_at = wide_row_bytes(rows);
  static constexpr uint scales_at = codes_at + wide_code_bytes(outputs, bits);
  static constexpr uint span_bytes = MARKBASE_WIDE_COLUMNS / 8 * bits;  ///< of a weight row
  static constexpr uint pieces = outputs * span_bytes / 16;             ///< of the codes of a stage
  static constexpr uint copies = (pieces + kThreads - 1) / kThreads;    ///< of a thread
  static constexpr uint words = bits / 2;                               ///< of the 16 columns of a lane
};

/** Bytes of a span of a row, which is bf16. */
constant constexpr uint kRowSpan = 2 * MARKBASE_WIDE_COLUMNS;

/** An output of a weight. */
struct WideOutput {
  uint weight;
  uint output;
};

/** What weight row `row` of a tile is: of a pair, each simdgroup has as many blocks of the gate as of the same outputs of up. */
template <int output_blocks>
inline WideOutput wide_output(Tile tile, uint row) {
  constexpr uint own = 8 * output_blocks;
  if (!tile.is_pair) return {tile.weight, min(tile.first_output + row, tile.out - 1)};
  const uint output = tile.first_output + row / own * (own / 2) + row % (own / 2);
  return {row % own / (own / 2), min(output, tile.out - 1)};
}

/** Column of output `output` of a tile in its products; of a pair, up lies 4 output_blocks behind its gate. */
template <int output_blocks>
inline uint wide_column(bool is_pair, uint output) {
  return is_pair ? output / (4 * output_blocks) * (8 * output_blocks) + output % (4 * output_blocks) : output;
}

/** From where a thread copies the stages. */
template <typename W>
struct StageSource {
  device const uchar* rows;
  ulong row_step;  ///< bytes of 16 rows
  device const uchar* codes[W::copies];
  device const uchar* scales[2];
  uint group_shift;  ///< spans of a group, as a power of two
  uint code_end;     ///< bytes of a weight row from the thread's 16 of a span on

  void copy(threadgroup uchar* stage, uint span, uint thread_index) const {
    const uint row = thread_index / 8, piece = thread_index % 8;
    threadgroup uchar* to = stage + row * kRowSpan + (piece ^ row % 8) * 16;
    device const uchar* from = rows + span * kRowSpan;
#pragma unroll
    for (uint i = 0; i < W::rows / 16; ++i) nvidia::copy_16(to + i * 16 * kRowSpan, from + i * row_step);
    constexpr uint row_pieces = W::span_bytes / 16;
    // Behind the end of a row of bf16, where rows of x are zero, its beginning.
    const ulong code = W::is_affine || span * W::span_bytes < code_end ? ulong(span) * W::span_bytes : 0;
#pragma unroll
    for (uint i = 0; i < W::copies; ++i) {
      const uint index = thread_index + i * kThreads, output = index / row_pieces;
      if ((i + 1) * kThreads > W::pieces && index >= W::pieces) break;
      // Numbers of bf16: the banks of two neighbours differ.
      const uint place = W::is_affine ? index % row_pieces : index % row_pieces ^ output % 2;
      nvidia::copy_16(stage + W::codes_at + output * W::span_bytes + place * 16, codes[i] + code);
    }
    if (!W::is_affine) return;
    const uint group = span >> group_shift;
#pragma unroll
    for (uint i = 0; i < 2 * W::outputs / kThreads; ++i) {
      // The word in which the scalar is.
      const ulong at = ulong(scales[i]) + 2 * group;
      nvidia::copy_4(stage + W::scales_at + (thread_index + i * kThreads) * 4, scales[i] + 2 * group - (at & 2));
    }
  }
};

/** Code `index` of a lane. */
template <int bits>
inline uint whole_code(thread const uint* words, int index) {
  const int first = index * bits, shift = first % 32;
  uint code = words[first / 32] >> shift;
  if (shift + bits > 32) code |= words[first / 32 + 1] << ((32 - shift) & 31);
  return code & ((1u << bits) - 1u);
}

/** A number of bf16 in both halves of a word, as float32. */
inline float upper_half(uint word) { return as_type<float>(word & 0xffff0000u); }

/**
 * The numbers that a lane brings to product m of a span, 0 to 3, as pairs; `words`: its 16 columns, of bf16 the half of them in
 * which they are. `scale`, `bias`: twice as bf16.
 */
template <int format>
inline void weight_pairs(thread const uint* words, int m, uint scale, uint bias, thread uint (&pairs)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int first = m % 2 * 2 + i;  // of eight neighbours; the other one is four behind it
    if (format == kFormatBf16) {
      pairs[i] = nvidia::select_bytes(words[first / 2], words[2 + first / 2], first % 2 == 0 ? 0x5410 : 0x7632);
    } else if (format == 8) {
      // Bytes below 2^23 are exact.
      const float low = as_type<float>(nvidia::select_bytes(words[m / 2 * 2], 0x4b000000u, 0x7440 | first)) - 8388608.0f;
      const float high = as_type<float>(nvidia::select_bytes(words[m / 2 * 2 + 1], 0x4b000000u, 0x7440 | first)) - 8388608.0f;
      pairs[i] = nvidia::bf16_pair(fma(low, upper_half(scale), upper_half(bias)), fma(high, upper_half(scale), upper_half(bias)));
    } else {
      // 128 + code is a number of bf16 with the code in its last bits.
      constexpr int bits = format < 8 ? format : 2;
      const uint number = format == 4 ? nvidia::masked_or(words[m / 2] >> 4 * first, 0x000f000fu, 0x43004300u)
                                      : whole_code<bits>(words, m / 2 * 8 + first) | whole_code<bits>(words, m / 2 * 8 + first + 4) << 16 | 0x43004300u;
      pairs[i] = nvidia::fma_pair(nvidia::fma_pair(number, 0x3f803f80u, 0xc300c300u), scale, bias);
    }
  }
}

/** `count` words of threadgroup memory, in loads as wide as they can be. */
template <int count>
inline void read_words(threadgroup const uchar* at, thread uint* words) {
  if (count % 4 == 0) {
    const uint4 four = *(threadgroup const uint4*)at;
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  } else if (count == 2) {
    const uint2 two = *(threadgroup const uint2*)at;
    words[0] = two.x;
    words[1] = two.y;
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) words[i] = ((threadgroup const uint*)at)[i];
  }
}

/** Adds the products of a stage. `selector`: which bytes are the lane's scalars in their words. */
template <int format, int row_blocks, int output_blocks>
inline void multiply_stage(threadgroup const uchar* stage, uint selector, uint lane, uint simdgroup,
                           thread float (&sums)[row_blocks][output_blocks][4]) {
  using W = Wide<format, row_blocks, output_blocks>;
  // Of numbers of bf16, the half that a product takes: all would be too many registers.
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
kernel void linear_wide(constant LinearParams& p [[buffer(0)]],
                        constant Launch& launch [[buffer(1)]],
                        device const uint4* x [[buffer(2)]],
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
                        device float* shares [[buffer(22)]],
                        threadgroup uchar* memory [[threadgroup(0)]],
                        uint3 at [[threadgroup_position_in_grid]],
                        uint3 grid [[threadgroups_per_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  using W = Wide<format, row_blocks, output_blocks>;
  const uint lane = thread_index % 32, simdgroup = thread_index / 32;
  const Tile tile = tile_at<W::rows, W::outputs>(p, uint2(at.x, at.y));
  const uint group = p.weight[tile.weight].group;
  const uint groups = W::is_affine ? p.in / group : 0;

  StageSource<W> source;
  // Rows are padded to whole tiles.
  const uint width = wide_columns(p.in);
  source.rows = (device const uchar*)x + ulong(tile.first_row + thread_index / 8) * width * 2 + thread_index % 8 * 16;
  source.row_step = ulong(width) * 32;
  source.code_end = p.in * 2 - thread_index % 8 * 16;
  source.group_shift = W::is_affine && group > MARKBASE_WIDE_COLUMNS ? 1 : 0;
#pragma unroll
  for (uint i = 0; i < W::copies; ++i) {
    constexpr uint row_pieces = W::span_bytes / 16;
    const uint index = thread_index + i * kThreads;
    const WideOutput own = wide_output<output_blocks>(tile, index / row_pieces);
    source.codes[i] = (own.weight == 0 ? w0 : own.weight == 1 ? w1 : w2) + launch.shift[6 + 3 * own.weight] +
                      ulong(own.output) * (p.in / 8 * W::bits) + index % row_pieces * 16;
  }
#pragma unroll
  for (uint i = 0; i < 2 && W::is_affine; ++i) {
    // Scales of all outputs, then biases.
    const uint index = thread_index + i * kThreads;
    const WideOutput own = wide_output<output_blocks>(tile, index % W::outputs);
    const bool is_bias = index >= W::outputs;
    device const uchar* scales = own.weight == 0 ? s0 : own.weight == 1 ? s1 : s2;
    device const uchar* biases = own.weight == 0 ? b0 : own.weight == 1 ? b1 : b2;
    source.scales[i] = (is_bias ? biases + launch.shift[8 + 3 * own.weight] : scales + launch.shift[7 + 3 * own.weight]) +
                       ulong(own.output) * groups * 2;
  }

  const uint all = width / MARKBASE_WIDE_COLUMNS, share = (all + grid.z - 1) / grid.z;
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
  // The stage that is multiplied, and the one that is filled meanwhile: the one multiplied before.
  uint stage = 0, filled = (W::stages - 1) * W::stage_bytes;
  for (uint span = begin; span < end; ++span) {
    nvidia::wait_copies<int(W::stages) - 2>();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (span + W::stages - 1 < end) source.copy(memory + filled, span + W::stages - 1, thread_index);
    nvidia::end_copies();
    // Rows of scales begin in the middle of a word where they have an odd number.
    const uint is_odd = ((lane / 4 & groups) ^ (span >> source.group_shift)) & 1;
    multiply_stage<format, row_blocks, output_blocks>(memory + stage, is_odd != 0 ? 0x3232 : 0x1010, lane, simdgroup, sums);
    filled = stage;
    stage = stage + W::stage_bytes == W::stages * W::stage_bytes ? 0 : stage + W::stage_bytes;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  constexpr uint stride = wide_product_stride(W::outputs);
  threadgroup float* products = (threadgroup float*)memory;
#pragma unroll
  for (int i = 0; i < row_blocks; ++i) {
#pragma unroll
    for (int j = 0; j < output_blocks; ++j) {
      threadgroup float* to = products + (16 * i + lane / 4) * stride + (simdgroup * output_blocks + j) * 8 + lane % 4 * 2;
      *(threadgroup float2*)to = float2(sums[i][j][0], sums[i][j][1]);
      *(threadgroup float2*)(to + 8 * stride) = float2(sums[i][j][2], sums[i][j][3]);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint rows = min(W::rows, launch.rows - tile.first_row);
  if (launch.is_split != 0) {
    device float* to = shares + (ulong(at.z) * launch.rows + tile.first_row) * (grid.x * W::outputs) + at.x * W::outputs;
    for (uint i = thread_index; i < rows * W::outputs; i += kThreads) {
      to[ulong(i / W::outputs) * (grid.x * W::outputs) + i % W::outputs] = products[i / W::outputs * stride + i % W::outputs];
    }
    return;
  }
  device float* y = tile.weight == 0 ? y0 : tile.weight == 1 ? y1 : y2;
  const uint y_stride = p.weight[tile.weight].y_stride;
  for (uint i = thread_index; i < rows * tile.outputs; i += kThreads) {
    const uint r = tile.is_pair ? i / (W::outputs / 2) : i / W::outputs, n = i % tile.outputs;
    const uint row = tile.first_row + r, output = tile.first_output + n;
    if (output >= tile.out) continue;
    threadgroup const float* product = products + r * stride + wide_column<output_blocks>(tile.is_pair, n);
    const float up = tile.is_pair ? product[4 * output_blocks] : 0.0f;
    y[ulong(row) * y_stride + output] = finish_product(p, tile.weight, *product, up, operand, row, output);
  }
}

/** Adds the products of launch.is_split shares, and finishes them. A threadgroup has the outputs of a block, of as many rows. */
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
  constexpr uint outputs = 8 * kSimdgroups * output_blocks;
  const Tile tile = tile_at<1, outputs>(p, at);
  const uint r = thread_index / tile.outputs, n = thread_index % tile.outputs;
  const uint row = at.y * (kRowThreads / tile.outputs) + r, output = tile.first_output + n;
  if (row >= launch.rows || output >= tile.out) return;
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

template [[host_name("linear_wide_add128")]] kernel decltype(linear_wide_add<4>) linear_wide_add<4>;
template [[host_name("linear_wide_add64")]] kernel decltype(linear_wide_add<2>) linear_wide_add<2>;

#define MARKBASE_LINEAR_WIDE(name, format)                                                                                 \
  template [[host_name("linear_wide64x128_" #name)]] kernel decltype(linear_wide<format, 4, 4>) linear_wide<format, 4, 4>; \
  template [[host_name("linear_wide64x64_" #name)]] kernel decltype(linear_wide<format, 4, 2>) linear_wide<format, 4, 2>;
/** Of numbers of bf16, tiles of 128 rows would want more registers than there are. */
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
