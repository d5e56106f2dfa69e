#pragma once

/**
 * Small floats as bf16 pairs, which hold an element times its scale exactly. The including file has metal_stdlib, metal_storage.h and
 * metal_matrix.h.
 */

#pragma METAL fp contract(off)

/** Minus zero twice: what is added to a product that must keep its sign. */
constant constexpr uint kNoAddend = 0x80008000u;

/** Columns that share a scale. */
template <int format>
constexpr uint scale_columns() {
  return format == kFormatNvfp4 ? 16 : 32;
}

/** Two numbers of E2M1 in the lowest bits of the halves of a word. Moved into place, their bits are numbers of bf16 2^126 times smaller. */
inline uint e2m1_pair(uint word) {
  return nvidia::fma_pair(nvidia::masked_or(word << 6, 0x01c001c0u, (word << 12) & 0x80008000u), 0x7e807e80u, kNoAddend);
}

/** Two numbers of E4M3 in the highest bits of the halves of a word, in the same way; NaN becomes 480. */
inline uint e4m3_pair(uint word) {
  return nvidia::fma_pair(nvidia::masked_or(word >> 4, 0x07f007f0u, word & 0x80008000u), 0x7b807b80u, kNoAddend);
}

/** Elements 4 m .. 4 m + 3 of a lane's words as two pairs: for E2M1, columns c and c + 4 of eight, as four_bit_pairs. */
template <int format>
inline void small_float_pairs(thread const uint* words, int m, thread uint& first, thread uint& second) {
  if (format == kFormatMxfp8) {
    first = e4m3_pair(nvidia::select_bytes(words[m], 0, 0x1404));
    second = e4m3_pair(nvidia::select_bytes(words[m], 0, 0x3424));
  } else {
    const uint word = words[m / 2] >> (m % 2 * 8);
    first = e2m1_pair(word);
    second = e2m1_pair(word >> 4);
  }
}

/** The scales of span `span`, 64 columns, of a row whose scales begin at a multiple of 4 bytes. */
template <int format>
inline uint load_span_scales(device const uchar* scales, uint span) {
  if (format != kFormatNvfp4) return nvidia::load_weight_scalar(scales + 2 * span);
  uint word;
  nvidia::load_weights<1>(scales + 4 * span, &word);
  return word;
}

/** The scale of a lane's 16 columns of a span, twice; NaN if one of their elements is. */
template <int format, int words>
inline uint scale_pair(uint span_scales, uint lane, thread const uint (&elements)[words]) {
  const uint byte = span_scales >> (lane % 4 * 16 / scale_columns<format>() * 8) & 0xffu;
  const float scale = format == kFormatNvfp4 ? scaled_e4m3(byte) * 256.0f : from_e8m0(uchar(byte));
  uint carries = 0;
#pragma unroll
  for (int i = 0; i < words && format == kFormatMxfp8; ++i) carries |= (elements[i] & 0x7f7f7f7fu) + 0x01010101u;
  return (carries & 0x80808080u) != 0 ? 0x7fc07fc0u : nvidia::bf16_pair(scale, scale);
}
