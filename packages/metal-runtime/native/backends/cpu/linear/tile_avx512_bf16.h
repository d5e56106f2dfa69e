#pragma once

#include "tile_avx512.h"

namespace markbase::cpu {
namespace {

/**
 * Products of many rows in bfloat16 with weights that are plain or mxfp8, lanes along the outputs, sums in float32.
 *
 * A tile of 32 weight rows x 512 columns is rounded to bfloat16 and transposed into scratch: one register of scratch holds
 * 2 columns of 16 weight rows. Against it each activation row needs one vdpbf16ps per 2 columns and 16 outputs, with 2 of
 * its elements broadcast. Six activation rows x 32 outputs keep 12 sums in registers; the 32 KiB of the tile stream from
 * the second-level cache in order, and the sums pass through memory only every 512 columns. Rows are multiplied with two tiles at a time:
 * thousands of rows come from memory, and are then read once for 64 outputs instead of 32.
 */
struct Avx512Bf16Tile {
  static constexpr bool kExists = true;
  static constexpr uint32_t kOutputs = 32;
  static constexpr uint32_t kColumns = 512;
  static constexpr uint32_t kRows = 6;
  static constexpr uint32_t kStep = 32;  // columns of one register of weights

  static constexpr uint32_t kTiles = 2;

  struct Tile {
    uint32_t pairs[kColumns / 2][kOutputs];
  };
  struct Scratch {
    Tile tile[kTiles];
  };

  static size_t scratch_bytes(const WeightView&, uint32_t) { return sizeof(Scratch); }

  static size_t prepared_row_bytes(uint32_t in) { return sizeof(uint16_t) * round_up(in, kStep); }

  static void prepare_row(uint32_t in, const float* x, void* prepared) {
    auto* target = static_cast<uint16_t*>(prepared);
    for (uint32_t k = 0; k < in; k += kStep) {
      _mm512_storeu_si512(target + k, round_pairs(kScalarF32, reinterpret_cast<const uint8_t*>(x + k), smaller(in - k, kStep)));
    }
  }

  /** Few rows with mxfp8: weights in the order of the file, lanes along the columns, up to kFewRows rows at a time. */
  static void run_few(
      const WeightView& weight, const void* prepared, uint32_t rows, uint32_t begin, uint32_t end, float* y, size_t y_stride) {
    const size_t row_bytes = prepared_row_bytes(weight.in);
    for (uint32_t r = 0; r < rows; r += kFewRows) {
      const uint8_t* x = static_cast<const uint8_t*>(prepared) + r * row_bytes;
      float* target = y + r * y_stride;
      switch (smaller(rows - r, kFewRows)) {
        case 1: multiply_few<1>(weight, x, row_bytes, begin, end, target, y_stride); break;
        case 2: multiply_few<2>(weight, x, row_bytes, begin, end, target, y_stride); break;
        case 3: multiply_few<3>(weight, x, row_bytes, begin, end, target, y_stride); break;
        default: multiply_few<4>(weight, x, row_bytes, begin, end, target, y_stride);
      }
    }
  }

  static void run(const WeightView& weight,
                  const void* prepared,
                  uint32_t rows,
                  uint32_t begin,
                  uint32_t end,
                  float* y,
                  size_t y_stride,
                  void* scratch) {
    auto* tiles = static_cast<Scratch*>(scratch)->tile;
    const auto* x = static_cast<const uint8_t*>(prepared);
    const size_t row_bytes = prepared_row_bytes(weight.in);
    for (uint32_t first = begin; first < end; first += kTiles * kOutputs) {
      const uint32_t outputs = smaller(end - first, kTiles * kOutputs);
      for (uint32_t column = 0; column < weight.in; column += kColumns) {
        const uint32_t columns = smaller(weight.in - column, kColumns);
        for (uint32_t n = 0; n < outputs; n += 16) {
          unpack(weight, first + n, smaller(outputs - n, 16), column, columns, n % kOutputs, tiles[n / kOutputs]);
        }
        const uint32_t steps = (columns + 1) / 2;
        for (uint32_t r = 0; r < rows; r += kRows) {
          const uint8_t* from = x + r * row_bytes + column * sizeof(uint16_t);
          for (uint32_t n = 0; n < outputs; n += kOutputs) {
            const uint32_t count = smaller(outputs - n, kOutputs);
            const Tile& tile = tiles[n / kOutputs];
            float* target = y + r * y_stride + (first - begin) + n;
            if (count > 16) {
              run_rows<2>(smaller(rows - r, kRows), from, row_bytes, steps, column > 0, count, tile, target, y_stride);
            } else {
              run_rows<1>(smaller(rows - r, kRows), from, row_bytes, steps, column > 0, count, tile, target, y_stride);
            }
          }
        }
      }
    }
  }

 private:
  /** `count` (1 .. 32) numbers of a type as bfloat16 in order, then zeros; nothing beyond them is read. */
  static __m512i round_pairs(ScalarType type, const uint8_t* source, uint32_t count) {
    const auto mask = static_cast<__mmask32>(~uint32_t{0} >> (32 - count));
    if (type == kScalarBf16) return _mm512_maskz_loadu_epi16(mask, source);
    __m512 low, high;
    if (type == kScalarF16) {
      const __m512i halves = _mm512_maskz_loadu_epi16(mask, source);
      low = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
      high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
    } else {
      low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), source);
      const auto upper = static_cast<__mmask16>(mask >> 16);
      high = upper == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(upper, source + 16 * sizeof(float));
    }
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
  }

  /** 32 numbers of mxfp8 and their scale as bfloat16 in order: exact, unless they are too small or too large for a normal number. */
  static __m512i mxfp8_pairs(const uint8_t* source, uint8_t scale) {
    __m512 w[2];
    Avx512Simd::elements32<true, true>(source, w);
    const __m512 factor = _mm512_set1_ps(e8m0_to_float(scale));
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(w[1], factor), _mm512_mul_ps(w[0], factor));
  }

  static constexpr uint32_t kFewRows = 4;
  static constexpr size_t kBytesAhead = 8192;  ///< see Int8Product

  /** Groups of 32 columns that are checked together, and sums per row: group g is added to sum g % kSums, or to the first one. */
  static constexpr uint32_t kCheckedGroups = 8, kSums = 4;
  using Codes = __m512i[kCheckedGroups / 2];

  /**
   * True when all elements of kCheckedGroups groups are normal numbers and stay so with their scales. Of weights with a normal
   * distribution, one element in 12,000 is below the normal numbers of E4M3.
   */
  static bool is_normal(const Codes& codes, __m128i scales) {
    // Magnitudes 8 .. 126, doubled to drop the sign.
    const auto doubled = [](__m512i bytes) { return _mm512_add_epi8(_mm512_add_epi8(bytes, bytes), _mm512_set1_epi8(-16)); };
    const __m512i low = _mm512_max_epu8(doubled(codes[0]), doubled(codes[1]));
    const __m512i high = _mm512_max_epu8(doubled(codes[2]), doubled(codes[3]));
    const __mmask64 bad_codes = _mm512_cmpgt_epu8_mask(_mm512_max_epu8(low, high), _mm512_set1_epi8(static_cast<char>(236)));
    const __mmask16 bad_scales =
        _mm_cmpgt_epu8_mask(_mm_sub_epi8(scales, _mm_set1_epi8(kLowestScale)), _mm_set1_epi8(static_cast<char>(239)));
    return (bad_codes | (bad_scales & 0xff)) == 0;
  }

  /** The lowest scale with which all normal numbers of E4M3 are normal as bfloat16; its exponent is theirs minus 120. */
  static constexpr int kLowestScale = 7;

  template <uint32_t Rows>
  static void multiply_few(
      const WeightView& weight, const uint8_t* x, size_t row_bytes, uint32_t begin, uint32_t end, float* y, size_t y_stride) {
    constexpr size_t kRowStep = kStep * sizeof(uint16_t);
    const uint32_t groups = weight.in / kStep;
    for (uint32_t n = begin; n < end; ++n) {
      const uint8_t* codes = weight_row(weight, n);
      const uint8_t* scales = static_cast<const uint8_t*>(weight.scales) + size_t{n} * groups;
      __m512 sum[Rows][kSums];
      for (auto& own : sum) {
        for (__m512& part : own) part = _mm512_setzero_ps();
      }
      for (uint32_t first = 0; first < groups; first += kCheckedGroups, codes += kCheckedGroups * kStep) {
        const uint8_t* own = x + first * kRowStep;
        const uint32_t count = smaller(groups - first, kCheckedGroups);
        Avx512Simd::prefetch(scales + first, kBytesAhead / kStep);
        for (uint32_t line = 0; line < count * kStep; line += 64) Avx512Simd::prefetch(codes + line, kBytesAhead);
        const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << count) - 1), scales + first);
        if (count == kCheckedGroups) {
          Codes packed;
          for (uint32_t i = 0; i < 4; ++i) packed[i] = _mm512_loadu_si512(codes + 64 * i);
          if (is_normal(packed, bytes)) {
            add_normal<Rows>(packed, bytes, own, row_bytes, sum);
            continue;
          }
        }
        for (uint32_t g = 0; g < count; ++g) {
          const __m512 factor = _mm512_set1_ps(e8m0_to_float(scales[first + g]));
          const __m512i words = Avx512Simd::e4m3_words(codes + g * kStep);
          for (uint32_t r = 0; r < Rows; ++r) {
            const __m512i row = _mm512_loadu_si512(own + g * kRowStep + r * row_bytes);
            const __m512 dot = _mm512_dpbf16_ps(_mm512_setzero_ps(), (__m512bh)words, (__m512bh)row);
            sum[r][0] = _mm512_fmadd_ps(dot, factor, sum[r][0]);
          }
        }
      }
      for (uint32_t r = 0; r < Rows; ++r) {
        const __m512 total = _mm512_add_ps(_mm512_add_ps(sum[r][0], sum[r][1]), _mm512_add_ps(sum[r][2], sum[r][3]));
        y[r * y_stride + (n - begin)] = Avx512Simd::sum(total);
      }
    }
  }

  /** kCheckedGroups groups that is_normal takes: a bfloat16 has the bits of its number, and an exponent that includes the scale. */
  template <uint32_t Rows>
  static void add_normal(const Codes& codes, __m128i scales, const uint8_t* x, size_t row_bytes, __m512 (&sum)[Rows][kSums]) {
    // For two words at a time.
    const __m256i exponents = _mm256_slli_epi32(_mm256_sub_epi32(_mm256_cvtepu8_epi32(scales), _mm256_set1_epi32(kLowestScale)), 7);
    alignas(32) int32_t pair[kCheckedGroups];
    _mm256_store_si256(reinterpret_cast<__m256i*>(pair), _mm256_or_si256(exponents, _mm256_slli_epi32(exponents, 16)));
    asm("" : "+m"(pair));  // loads broadcast them; from a register, that would take the shuffles that the elements need
#pragma GCC unroll 8
    for (uint32_t g = 0; g < kCheckedGroups; ++g) {
      // Words with a byte twice, shifted right by 4 as signed numbers: as a product, since a shift would compete with the shuffles.
      const __m512i twice = Avx512Simd::byte_pairs(codes[g / 2], g % 2);
      const __m512i shifted = _mm512_mulhi_epi16(twice, _mm512_set1_epi16(4096));
      const __m512i bits = _mm512_and_si512(shifted, _mm512_set1_epi16(static_cast<int16_t>(0x87f0)));
      const __m512i words = _mm512_add_epi32(bits, _mm512_set1_epi32(pair[g]));
      for (uint32_t r = 0; r < Rows; ++r) {
        const __m512i row = _mm512_loadu_si512(x + g * kStep * sizeof(uint16_t) + r * row_bytes);
        sum[r][g % kSums] = _mm512_dpbf16_ps(sum[r][g % kSums], (__m512bh)words, (__m512bh)row);
      }
    }
  }

  /** Fills a half of the tile, from index `half` (0 or 16) on; outputs that do not exist repeat the last one. */
  static void unpack(
      const WeightView& weight, uint32_t first, uint32_t count, uint32_t column, uint32_t columns, uint32_t half, Tile& tile) {
    const auto type = static_cast<ScalarType>(weight.format);
    const bool is_plain = !is_quantized(weight.format);
    const size_t element = is_plain ? scalar_bytes(type) : 1;
    const auto* scales = static_cast<const uint8_t*>(weight.scales);
    for (uint32_t k = 0; k < columns; k += kStep) {
      __m512i pairs[16];
      for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t n = first + smaller(i, count - 1);
        const uint8_t* source = weight_row(weight, n) + (column + k) * element;
        if (is_plain) pairs[i] = round_pairs(type, source, smaller(columns - k, kStep));
        else pairs[i] = mxfp8_pairs(source, scales[(size_t{n} * weight.in + column + k) / kStep]);
      }
      transpose16(pairs);
      for (uint32_t i = 0; i < 16; ++i) _mm512_store_si512(&tile.pairs[k / 2 + i][half], pairs[i]);
    }
  }

  template <uint32_t Vectors, class... Arguments>
  static void run_rows(uint32_t count, Arguments&&... arguments) {
    switch (count) {
      case 1: return multiply_rows<Vectors, 1>(arguments...);
      case 2: return multiply_rows<Vectors, 2>(arguments...);
      case 3: return multiply_rows<Vectors, 3>(arguments...);
      case 4: return multiply_rows<Vectors, 4>(arguments...);
      case 5: return multiply_rows<Vectors, 5>(arguments...);
      default: return multiply_rows<Vectors, 6>(arguments...);
    }
  }

  template <uint32_t Vectors, uint32_t Count>
  static void multiply_rows(
      const uint8_t* x, size_t row_bytes, uint32_t steps, bool continues, uint32_t outputs, const Tile& tile, float* y, size_t y_stride) {
    __mmask16 mask[Vectors];
    for (uint32_t v = 0; v < Vectors; ++v) mask[v] = static_cast<__mmask16>(0xffffu >> (16 - smaller(outputs - 16 * v, 16)));
    __m512 sum[Count][Vectors];
    for (uint32_t r = 0; r < Count; ++r) {
      for (uint32_t v = 0; v < Vectors; ++v) {
        sum[r][v] = continues ? _mm512_maskz_loadu_ps(mask[v], y + r * y_stride + 16 * v) : _mm512_setzero_ps();
      }
    }
#pragma GCC unroll 4
    for (uint32_t j = 0; j < steps; ++j) {
      __m512bh pairs[Vectors];
      for (uint32_t v = 0; v < Vectors; ++v) pairs[v] = (__m512bh)_mm512_load_si512(&tile.pairs[j][16 * v]);
      for (uint32_t r = 0; r < Count; ++r) {
        const auto two = (__m512bh)_mm512_set1_epi32(read_unaligned<int32_t>(x + r * row_bytes + j * sizeof(uint32_t)));
        for (uint32_t v = 0; v < Vectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], pairs[v], two);
      }
    }
    for (uint32_t r = 0; r < Count; ++r) {
      for (uint32_t v = 0; v < Vectors; ++v) _mm512_mask_storeu_ps(y + r * y_stride + 16 * v, mask[v], sum[r][v]);
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
