#pragma once

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/**
 * An activation row in 8 bits: x_k ~ code_k * scale[k / 64], codes in -127..127, scale = max|x| / 127 over 64 columns.
 *
 * 64 columns per scale: a weight group of 64 or 128 then needs one conversion and one multiplication by a scale per 64
 * products; 32 columns would lower the rounding noise of normal data from 0.57 % to 0.48 % and double that cost.
 *
 * The scale and scale * (sum of the codes) are stored with the codes, per unit of 32 and again per unit of 64 columns, or, in a fine row, per
 * unit of 16. The sum is
 * multiplied by the weight's bias. Because it is the sum of the rounded codes, a bias of -8 scales cancels against codes around 8 as it
 * does in exact arithmetic, and the rounding noise stays that of the small difference.
 *
 * Memory: codes [columns padded to 128], scale32, scale64, sum32, sum64, or scale16, sum16, each padded with zeros to 64 bytes.
 */
struct Int8Row {
  const int8_t* codes;
  const float* scale32;
  const float* scale64;
  const float* sum32;
  const float* sum64;
  const float* scale16;  ///< of a fine row, which has only these two
  const float* sum16;

  template <int Unit>
  const float* scale() const {
    return Unit == 16 ? scale16 : Unit == 32 ? scale32 : scale64;
  }
  template <int Unit>
  const float* sum() const {
    return Unit == 16 ? sum16 : Unit == 32 ? sum32 : sum64;
  }
};

inline constexpr uint32_t kInt8RowPadding = 128;

inline uint32_t int8_row_codes(uint32_t in) { return round_up(in, kInt8RowPadding); }
inline uint32_t int8_row_units(uint32_t in, uint32_t unit) { return round_up(int8_row_codes(in) / unit, 16); }

inline size_t int8_row_bytes(uint32_t in, bool is_fine) {
  const size_t units = is_fine ? int8_row_units(in, 16) : int8_row_units(in, 32) + int8_row_units(in, 64);
  return int8_row_codes(in) + sizeof(float) * 2 * units;
}

inline Int8Row int8_row(const void* prepared, uint32_t in, bool is_fine) {
  const auto* codes = static_cast<const int8_t*>(prepared);
  if (is_fine) {
    const auto* scale16 = reinterpret_cast<const float*>(codes + int8_row_codes(in));
    return {codes, nullptr, nullptr, nullptr, nullptr, scale16, scale16 + int8_row_units(in, 16)};
  }
  const auto* scale32 = reinterpret_cast<const float*>(codes + int8_row_codes(in));
  const float* scale64 = scale32 + int8_row_units(in, 32);
  const float* sum32 = scale64 + int8_row_units(in, 64);
  return {codes, scale32, scale64, sum32, sum32 + int8_row_units(in, 32), nullptr, nullptr};
}

/**
 * Rounds 64 floats to codes; returns the scale. Written so that any compiler vectorises it: the maximum is taken of the
 * bit patterns (a NaN is the largest of all, so it reaches the scale and the result), and adding 1.5 * 2^23 rounds to the
 * nearest integer, ties to even. Blocks below 2^-100 count as zero, because 127 / max would overflow.
 */
inline float round_to_codes(const float* x, int8_t* codes) {
  uint32_t largest = 0;
  for (int i = 0; i < 64; ++i) {
    const uint32_t magnitude = float_to_bits(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const float maximum = bits_to_float(largest);
  if (maximum < 0x1p-100f) {
    memset(codes, 0, 64);
    return 0.0f;
  }
  const float inverse = 127.0f / maximum;
  for (int i = 0; i < 64; ++i) {
    const float shifted = x[i] * inverse + 12582912.0f;
    codes[i] = static_cast<int8_t>(float_to_bits(shifted) - 0x4b400000u);
  }
  return maximum / 127.0f;
}

/**
 * Writes the prepared form of x[0..in). NibbleBlock = 0 keeps the natural order; otherwise each block of that many
 * columns holds its even columns first, then its odd ones, as the low and high nibbles of packed 4-bit weights come out.
 */
template <int NibbleBlock>
inline void prepare_int8_row(uint32_t in, const float* x, void* prepared, bool is_fine) {
  memset(prepared, 0, int8_row_bytes(in, is_fine));
  const Int8Row row = int8_row(prepared, in, is_fine);
  auto* codes = const_cast<int8_t*>(row.codes);
  const auto set_unit = [&](const float* scales, const float* sums, uint32_t unit, float scale, int32_t sum) {
    const_cast<float*>(scales)[unit] = scale;
    const_cast<float*>(sums)[unit] = scale * static_cast<float>(sum);
  };
  for (uint32_t block = 0; block * 64 < in; ++block) {
    float padded[64];
    const float* source = x + block * 64;
    if (in - block * 64 < 64) {
      memset(padded, 0, sizeof padded);
      memcpy(padded, source, (in - block * 64) * sizeof(float));
      source = padded;
    }
    int8_t natural[64];
    const float scale = round_to_codes(source, natural);
    int32_t sums[4] = {};
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 16; ++i) sums[part] += natural[part * 16 + i];
    }
    if (is_fine) {
      for (uint32_t part = 0; part < 4 && block * 64 + part * 16 < in; ++part) {
        set_unit(row.scale16, row.sum16, block * 4 + part, scale, sums[part]);
      }
    } else {
      set_unit(row.scale64, row.sum64, block, scale, sums[0] + sums[1] + sums[2] + sums[3]);
      for (uint32_t half = 0; half < 2 && block * 64 + half * 32 < in; ++half) {
        set_unit(row.scale32, row.sum32, block * 2 + half, scale, sums[2 * half] + sums[2 * half + 1]);
      }
    }
    if constexpr (NibbleBlock == 0) {
      memcpy(codes + block * 64, natural, 64);
    } else {
      constexpr uint32_t kHalf = NibbleBlock / 2;
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t pair = block * 32 + i;  // columns 2 * pair and 2 * pair + 1
        int8_t* target = codes + pair / kHalf * NibbleBlock + pair % kHalf;
        target[0] = natural[2 * i];
        target[kHalf] = natural[2 * i + 1];
      }
    }
  }
}

}  // namespace
}  // namespace markbase::cpu
