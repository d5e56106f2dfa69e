#pragma once

/**
 * Shared by linear_wide and linear_warpgroup: copies of stages, conversion of codes to bf16, and output of the products. `W` is a WideTile.
 *
 * The including file has metal_stdlib, launch.h, linear_params.h, scalar_type.h, metal_storage.h, metal_math.h, metal_matrix.h,
 * metal_fragments.h, metal_tile.h, metal_clip.h, metal_linear_tile.h, nvidia/bound_weights.h and nvidia/wide_tile.h.
 */

/** An output of a weight. */
struct WideOutput {
  uint weight;
  uint output;
};

/**
 * Output and weight of weight row `row` of a tile: in a pair, each simdgroup has equally many blocks of the gate and of the same outputs of
 * up.
 */
template <int output_blocks>
inline WideOutput wide_output(Tile tile, uint row) {
  constexpr uint own = 8 * output_blocks;
  if (!tile.is_pair) return {tile.weight, min(tile.first_output + row, tile.out - 1)};
  const uint output = tile.first_output + row / own * (own / 2) + row % (own / 2);
  return {row % own / (own / 2), min(output, tile.out - 1)};
}

/** Column of output `output` of a tile in its products; in a pair, up is 4 output_blocks after its gate. */
template <int output_blocks>
inline uint wide_column(bool is_pair, uint output) {
  return is_pair ? output / (4 * output_blocks) * (8 * output_blocks) + output % (4 * output_blocks) : output;
}

/** Source of a thread's copies into stages. */
template <typename W>
struct StageSource {
  device const uchar* rows;
  ulong row_step;  ///< bytes of the rows that the threads copy at a time
  device const uchar* codes[W::copies];
  device const uchar* scales[2];
  uint group_shift;  ///< spans of a group, as a power of two
  uint code_end;     ///< bytes of a weight row from the thread's 16 of a span on

  /** Copies the columns of a tile. Rows are padded to whole tiles. */
  void begin(constant LinearParams& p, constant Launch& launch, device const uchar* x, BoundWeights bound, Tile tile, uint thread_index) {
    const uint group = p.weight[tile.weight].group, width = wide_columns(p.in);
    rows = x + ulong(tile.first_row + thread_index / 8) * width * 2 + thread_index % 8 * 16;
    row_step = ulong(width) * (W::threads / 4);
    code_end = p.in * 2 - thread_index % 8 * 16;
    group_shift = W::is_affine && group > MARKBASE_WIDE_COLUMNS ? 1 : 0;
#pragma unroll
    for (uint i = 0; i < W::copies; ++i) {
      constexpr uint row_pieces = W::span_bytes / 16;
      const uint index = thread_index + i * W::threads;
      const WideOutput own = wide_output<W::output_blocks>(tile, index / row_pieces);
      codes[i] = bound.codes(launch, own.weight) + ulong(own.output) * (p.in / 8 * W::bits) + index % row_pieces * 16;
    }
    if (!W::is_affine) return;
#pragma unroll
    for (uint i = 0; i < 2 * W::outputs / W::threads; ++i) {
      // Scales of all outputs, then biases.
      const uint index = thread_index + i * W::threads;
      const WideOutput own = wide_output<W::output_blocks>(tile, index % W::outputs);
      scales[i] = (index >= W::outputs ? bound.biases(launch, own.weight) : bound.scales(launch, own.weight)) +
                  ulong(own.output) * (p.in / group) * 2;
    }
  }

  void copy(threadgroup uchar* stage, uint span, uint thread_index) const {
    const uint row = thread_index / 8, piece = thread_index % 8;
    threadgroup uchar* to = stage + row * kRowSpan + (piece ^ row % 8) * 16;
    device const uchar* from = rows + span * kRowSpan;
#pragma unroll
    for (uint i = 0; i < W::rows * 8 / W::threads; ++i) nvidia::copy_16(to + i * (W::threads * 16), from + i * row_step);
    constexpr uint row_pieces = W::span_bytes / 16;
    // Beyond the end of a bf16 row, where rows of x are zero, its beginning is read.
    const ulong code = W::is_affine || span * W::span_bytes < code_end ? ulong(span) * W::span_bytes : 0;
#pragma unroll
    for (uint i = 0; i < W::copies; ++i) {
      const uint index = thread_index + i * W::threads, output = index / row_pieces;
      if ((i + 1) * W::threads > W::pieces && index >= W::pieces) break;
      // bf16: the banks of two adjacent rows differ.
      const uint place = W::is_affine ? index % row_pieces : index % row_pieces ^ output % 2;
      nvidia::copy_16(stage + W::codes_at + output * W::span_bytes + place * 16, codes[i] + code);
    }
    if (!W::is_affine) return;
    const uint group = span >> group_shift;
#pragma unroll
    for (uint i = 0; i < 2 * W::outputs / W::threads; ++i) {
      // The word that contains the scalar.
      const ulong at = ulong(scales[i]) + 2 * group;
      nvidia::copy_4(stage + W::scales_at + (thread_index + i * W::threads) * 4, scales[i] + 2 * group - (at & 2));
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

/** A bf16 value that fills both halves of a word, as float32. */
inline float upper_half(uint word) { return as_type<float>(word & 0xffff0000u); }

/**
 * A lane's operands for product m of a span, 0 to 3, as pairs; `words`: its 16 columns; for bf16, the half that contains them. `scale`,
 * `bias`: bf16, twice in a word.
 */
template <int format>
inline void weight_pairs(thread const uint* words, int m, uint scale, uint bias, thread uint (&pairs)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int first = m % 2 * 2 + i;  // of eight adjacent columns; the second one is four columns later
    if (format == kFormatBf16) {
      pairs[i] = nvidia::select_bytes(words[first / 2], words[2 + first / 2], first % 2 == 0 ? 0x5410 : 0x7632);
    } else if (format == 8) {
      // Bytes below 2^23 are exact.
      const float low = as_type<float>(nvidia::select_bytes(words[m / 2 * 2], 0x4b000000u, 0x7440 | first)) - 8388608.0f;
      const float high = as_type<float>(nvidia::select_bytes(words[m / 2 * 2 + 1], 0x4b000000u, 0x7440 | first)) - 8388608.0f;
      pairs[i] = nvidia::bf16_pair(fma(low, upper_half(scale), upper_half(bias)), fma(high, upper_half(scale), upper_half(bias)));
    } else {
      // In bf16, 128 + code has the code in its low bits.
      constexpr int bits = format < 8 ? format : 2;
      const uint number = format == 4 ? nvidia::masked_or(words[m / 2] >> 4 * first, 0x000f000fu, 0x43004300u)
                                      : whole_code<bits>(words, m / 2 * 8 + first) | whole_code<bits>(words, m / 2 * 8 + first + 4) << 16 |
                                            0x43004300u;
      pairs[i] = nvidia::fma_pair(nvidia::fma_pair(number, 0x3f803f80u, 0xc300c300u), scale, bias);
    }
  }
}

/** finish_product for an epilogue known at compile time. */
template <uint epilogue>
inline float finish_quickly(
    constant LinearParams& p, uint weight, float product, float up, device const float* operand, uint row, uint output) {
  product = clipped(p, weight, product);
  if (epilogue == kLinearGeglu) return quick_gelu(product) * clipped(p, 1, up);
  if (epilogue == kLinearGegluMul) return quick_gelu(product) * operand[ulong(row) * p.operand_stride + output];
  return epilogue == kLinearSoftcap ? softcap(product, p.cap) : product;
}

/** Finishes the products of a tile and stores them. */
template <typename W, uint epilogue>
inline void finish_tile(constant LinearParams& p,
                        device float* y,
                        Tile tile,
                        uint rows,
                        threadgroup const float* products,
                        device const float* operand,
                        uint thread_index) {
  constexpr bool is_pair = epilogue == kLinearGeglu;
  constexpr uint outputs = is_pair ? W::outputs / 2 : W::outputs;
  const uint y_stride = p.weight[tile.weight].y_stride, end = rows * outputs;
  for (uint first = thread_index; first < end; first += kFinished * W::threads) {
    float values[kFinished];
#pragma unroll
    for (uint i = 0; i < kFinished; ++i) {
      const uint index = min(first + i * W::threads, end - 1), r = index / outputs, n = index % outputs;
      threadgroup const float* product = products + r * W::product_stride + wide_column<W::output_blocks>(is_pair, n);
      const uint row = tile.first_row + r, output = min(tile.first_output + n, tile.out - 1);
      values[i] = finish_quickly<epilogue>(p, tile.weight, *product, is_pair ? product[4 * W::output_blocks] : 0.0f, operand, row, output);
    }
#pragma unroll
    for (uint i = 0; i < kFinished; ++i) {
      const uint index = first + i * W::threads, r = index / outputs, output = tile.first_output + index % outputs;
      if (index < end && output < tile.out) y[ulong(tile.first_row + r) * y_stride + output] = values[i];
    }
  }
}

/** Stores the products of a tile, [rows][product_stride] in threadgroup memory: finished, or as partial sums of share `at.z`. */
template <typename W>
inline void store_products(constant LinearParams& p,
                           constant Launch& launch,
                           BoundWeights bound,
                           Tile tile,
                           threadgroup const float* products,
                           device const float* operand,
                           device float* shares,
                           uint3 at,
                           uint3 grid,
                           uint thread_index) {
  const uint rows = min(W::rows, launch.rows - tile.first_row);
  if (launch.is_split != 0) {
    const uint width = grid.x * W::outputs;
    device float4* to = (device float4*)(shares + (ulong(at.z) * launch.rows + tile.first_row) * width + at.x * W::outputs);
#pragma unroll 4
    for (uint i = thread_index; i < rows * W::outputs / 4; i += W::threads) {
      const uint r = i / (W::outputs / 4), n = i % (W::outputs / 4);
      to[ulong(r) * (width / 4) + n] = *(threadgroup const float4*)(products + r * W::product_stride + 4 * n);
    }
    return;
  }
  device float* y = bound.output(tile.weight);
  if (p.epilogue == kLinearGeglu) finish_tile<W, kLinearGeglu>(p, y, tile, rows, products, operand, thread_index);
  else if (p.epilogue == kLinearGegluMul) finish_tile<W, kLinearGegluMul>(p, y, tile, rows, products, operand, thread_index);
  else if (p.epilogue == kLinearSoftcap) finish_tile<W, kLinearSoftcap>(p, y, tile, rows, products, operand, thread_index);
  else finish_tile<W, kLinearStore>(p, y, tile, rows, products, operand, thread_index);
}

#define MARKBASE_WIDE_ARGUMENTS                                                                                              \
  constant LinearParams &p [[buffer(0)]], constant Launch &launch [[buffer(1)]], device const uchar *x [[buffer(2)]],        \
      device const float *operand [[buffer(7)]], device const uchar *w0 [[buffer(8)]], device const uchar *s0 [[buffer(9)]], \
      device const uchar *b0 [[buffer(10)]], device const uchar *w1 [[buffer(11)]], device const uchar *s1 [[buffer(12)]],   \
      device const uchar *b1 [[buffer(13)]], device const uchar *w2 [[buffer(14)]], device const uchar *s2 [[buffer(15)]],   \
      device const uchar *b2 [[buffer(16)]], device float *y0 [[buffer(17)]], device float *y1 [[buffer(18)]],               \
      device float *y2 [[buffer(19)]], device float *shares [[buffer(22)]], threadgroup uchar *memory [[threadgroup(0)]],    \
      uint3 at [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]], uint thread_index [[thread_index_in_threadgroup]]
