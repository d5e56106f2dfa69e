#pragma once

/**
 * Tiles of the products of many rows: stages in threadgroup memory of 64 columns of rows, as bf16, and of stored weight rows.
 * The including file has metal_stdlib, linear_wide_tiles.h and metal_math.h.
 */

/** A tile of `tile_rows` × 32 `tile_output_blocks`, computed by `tile_threads`, and its stages. */
template <int format, uint tile_rows, uint tile_output_blocks, uint tile_threads>
struct WideTile {
  static constexpr uint bits = format <= 8 ? format : 16;
  static constexpr bool is_affine = format <= 8;
  static constexpr uint threads = tile_threads;
  static constexpr uint rows = tile_rows;
  static constexpr uint output_blocks = tile_output_blocks;
  static constexpr uint outputs = 32 * output_blocks;
  static constexpr uint stages = wide_stages(threads, rows, bits);
  static constexpr uint stage_bytes = wide_stage_bytes(rows, outputs, bits);
  static constexpr uint codes_at = wide_row_bytes(rows);
  static constexpr uint scales_at = codes_at + wide_code_bytes(outputs, bits);
  static constexpr uint span_bytes = MARKBASE_WIDE_COLUMNS / 8 * bits;  ///< of a weight row
  static constexpr uint pieces = outputs * span_bytes / 16;             ///< of the codes of a stage
  static constexpr uint copies = (pieces + threads - 1) / threads;      ///< of a thread
  static constexpr uint words = bits / 2;                               ///< of the 16 columns of a lane
  static constexpr uint product_stride = wide_product_stride(threads, outputs);
};

/** Bytes of a span of a bf16 row. */
constant constexpr uint kRowSpan = 2 * MARKBASE_WIDE_COLUMNS;

/** `count` words of threadgroup memory, in the widest possible loads. */
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

/** gelu_tanh with a relative error of about 1e-6, and cheap: a prompt evaluates millions. */
inline float quick_gelu(float x) {
  const float bounded = clamp(x, -1.0e12f, 1.0e12f);
  // -2 sqrt(2 / pi) log2(e).
  const float power = nvidia::exponential_of_two(bounded * fma(bounded * bounded, 0.044715f, 1.0f) * -2.3022082f);
  // Far below zero the result is zero, whatever the size of x.
  return (x < 0.0f ? bounded : x) * nvidia::reciprocal(power + 1.0f);
}

/** Products that a thread finishes together, so that their latencies overlap. */
constant constexpr uint kFinished = 4;
