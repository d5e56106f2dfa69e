#pragma once

#include <immintrin.h>

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** Permutation of the 2 * Bits bytes of 16 codes: lane l gets the 4 bytes that start at bit l * Bits, shifted by `shift`. */
template <int Bits>
struct Avx512LaneLayout {
  alignas(64) uint8_t byte[2][64];
  alignas(64) uint32_t shift[16];

  constexpr Avx512LaneLayout() : byte(), shift() {
    for (int half = 0; half < 2; ++half) {
      for (int lane = 0; lane < 16; ++lane) {
        for (int i = 0; i < 4; ++i) byte[half][lane * 4 + i] = static_cast<uint8_t>((half * 16 + lane) * Bits / 8 + i);
      }
    }
    for (int lane = 0; lane < 16; ++lane) shift[lane] = static_cast<uint32_t>(lane * Bits % 8);
  }
};

/** The 8 codes in Bits consecutive bytes become 8 bytes: `byte` moves them into one quadword, `shift` separates the codes. */
template <int Bits>
struct Avx512ByteLayout {
  alignas(64) uint8_t byte[64];
  alignas(64) uint8_t shift[64];

  constexpr Avx512ByteLayout() : byte(), shift() {
    for (int quad = 0; quad < 8; ++quad) {
      for (int i = 0; i < 8; ++i) {
        byte[quad * 8 + i] = static_cast<uint8_t>(i < Bits ? quad * Bits + i : 0);
        shift[quad * 8 + i] = static_cast<uint8_t>(i * Bits);
      }
    }
  }
};

template <int Bits>
inline constexpr Avx512LaneLayout<Bits> kAvx512LaneLayout;
template <int Bits>
inline constexpr Avx512ByteLayout<Bits> kAvx512ByteLayout;

/** The two bytes of E4M3 magnitudes as bfloat16, which is exact, and a permutation of 32 bytes: word 2 i is byte i twice, word 2 i + 1 byte
 * 16 + i. */
struct Avx512E4m3Tables {
  alignas(64) uint8_t low[128];
  alignas(64) uint8_t high[128];
  alignas(64) uint8_t place[64];
  alignas(64) uint8_t pairs[2][64];  ///< word i is byte 32 h + i, twice

  constexpr Avx512E4m3Tables() : low(), high(), place(), pairs() {
    for (int code = 0; code < 128; ++code) {
      int exponent = code >> 3, fraction = code & 7;
      if (exponent == 0 && fraction != 0) {
        // Fractions below 1: shifted until the leading bit is implicit.
        for (exponent = 1; fraction < 8; fraction *= 2) --exponent;
        fraction -= 8;
      }
      const int word = code == 0 ? 0 : code == 127 ? 0x7fc0 : (exponent - 7 + 127) << 7 | fraction << 4;
      low[code] = static_cast<uint8_t>(word & 255);
      high[code] = static_cast<uint8_t>(word >> 8);
    }
    for (int i = 0; i < 64; ++i) place[i] = static_cast<uint8_t>(i / 2 % 2 * 16 + i / 4);
    for (int i = 0; i < 128; ++i) pairs[i / 64][i % 64] = static_cast<uint8_t>(i / 2);
  }
};

inline constexpr Avx512E4m3Tables kAvx512E4m3Tables;

/** AVX-512 F, BW, DQ, VL, VNNI and VBMI (Intel from Ice Lake, AMD from Zen 4). */
struct Avx512Simd {
  static constexpr uint32_t kLanes = 16;
  static constexpr uint32_t kFloatAccumulators = 16;
  static constexpr uint32_t kNibbleBlock = 128;
  using Float = __m512;
  using Int = __m512i;

  static Float zero() { return _mm512_setzero_ps(); }
  static Float set(float value) { return _mm512_set1_ps(value); }
  static Float load(const float* source) { return _mm512_loadu_ps(source); }
  static void store(float* target, Float value) { _mm512_storeu_ps(target, value); }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float to_float(Int v) { return _mm512_cvtepi32_ps(v); }
  static float sum(Float v) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  static Float load_scalars(ScalarType type, const uint8_t* source) {
    if (type == kScalarF32) return _mm512_loadu_ps(source);
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
    if (type == kScalarF16) return _mm512_cvtph_ps(raw);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
  }

  /** As load_scalars for the first `count` < 16 values; the other lanes are zero and their memory is not read. */
  static Float load_scalars(ScalarType type, const uint8_t* source, uint32_t count) {
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    if (type == kScalarF32) return _mm512_maskz_loadu_ps(mask, source);
    const __m256i raw = _mm256_maskz_loadu_epi16(mask, source);
    if (type == kScalarF16) return _mm512_cvtph_ps(raw);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
  }

  /** Every lane of the first half twice. */
  static Float repeat_lanes(Float v) { return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), v); }

  /**
   * Fetches the line `bytes` beyond an address into the second-level cache. The first level has too few miss buffers:
   * 24 lines in flight at a latency above 100 ns are 15 GB/s, and demand misses queue behind them.
   */
  static void prefetch(const uint8_t* source, size_t bytes) { _mm_prefetch(ahead(source, bytes), _MM_HINT_T1); }

  /** The first `Bytes` bytes (at most 64) at `source`, then zeros; nothing else is read. */
  template <int Bytes>
  static __m512i load_bytes(const uint8_t* source) {
    if constexpr (Bytes == 64) return _mm512_loadu_si512(source);
    if constexpr (Bytes == 32) {
      return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
    }
    return _mm512_maskz_loadu_epi8((uint64_t{1} << (Bytes % 64)) - 1, source);
  }

  /** 32 codes as two vectors of integers; above the code each lane still holds bits of its neighbours. */
  template <int Bits>
  static void lanes32(const uint8_t* source, Int (&lanes)[2]) {
    const __m512i packed = load_bytes<4 * Bits>(source);
    for (int half = 0; half < 2; ++half) {
      const __m512i moved = _mm512_permutexvar_epi8(_mm512_load_si512(kAvx512LaneLayout<Bits>.byte[half]), packed);
      lanes[half] = _mm512_srlv_epi32(moved, _mm512_load_si512(kAvx512LaneLayout<Bits>.shift));
    }
  }

  template <int Bits>
  static void codes32(const uint8_t* source, Float (&codes)[2]) {
    if constexpr (Bits == 8) {
      for (int half = 0; half < 2; ++half) {
        const auto* bytes = reinterpret_cast<const __m128i*>(source + 16 * half);
        codes[half] = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(bytes)));
      }
    } else {
      Int lanes[2];
      lanes32<Bits>(source, lanes);
      const __m512i mask = _mm512_set1_epi32((1 << Bits) - 1);
      for (int half = 0; half < 2; ++half) codes[half] = _mm512_cvtepi32_ps(_mm512_and_si512(lanes[half], mask));
    }
  }

  /** target[0..count) = source[0..count), for less than 16 bytes. */
  static void copy_few(uint8_t* target, const uint8_t* source, uint32_t count) {
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm_maskz_loadu_epi8(mask, source));
  }

  /** 16 scales, 2^(byte - 127); 255 is NaN. */
  static Float from_e8m0(const uint8_t* source) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
    const __mmask16 is_number = _mm_cmpneq_epi8_mask(bytes, _mm_set1_epi8(-1));
    // 2^-127 is not a normal float.
    const __m512i exponents = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23), nan = _mm512_set1_epi32(0x7fc00000);
    return _mm512_castsi512_ps(_mm512_mask_max_epu32(nan, is_number, exponents, _mm512_set1_epi32(0x00400000)));
  }

  /** 16 numbers of E4M3, divided by kE4m3Unit: the bits of a half, moved into place. */
  static constexpr float kE4m3Unit = 256.0f;
  static Float e4m3_parts(const uint8_t* source) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
    const __mmask16 is_number = _mm_cmpneq_epi8_mask(_mm_add_epi8(bytes, bytes), _mm_set1_epi8(static_cast<char>(0xfe)));
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i halves = _mm256_and_si256(wide, _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
    return _mm512_mask_cvtph_ps(_mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)), is_number, halves);
  }

  /** Words whose two bytes, at the places `low` and `high`, are the same number of E4M3: the bfloat16 of it. Other words must be 0. */
  static __m512i e4m3_words(__m512i twice, __mmask64 low, __mmask64 high) {
    const Avx512E4m3Tables& tables = kAvx512E4m3Tables;
    const __m512i half = _mm512_mask2_permutex2var_epi8(_mm512_load_si512(tables.low), twice, low, _mm512_load_si512(tables.low + 64));
    const __m512i both = _mm512_mask2_permutex2var_epi8(_mm512_load_si512(tables.high), half, high, _mm512_load_si512(tables.high + 64));
    // both | (twice & sign)
    return _mm512_ternarylogic_epi32(both, twice, _mm512_set1_epi16(static_cast<int16_t>(0x8000)), 0xf8);
  }
  /** Bytes 32 half .. 32 half + 31, each twice. */
  static __m512i byte_pairs(__m512i bytes, uint32_t half) {
    return _mm512_permutexvar_epi8(_mm512_load_si512(kAvx512E4m3Tables.pairs[half]), bytes);
  }
  /** 32 numbers of E4M3 as bfloat16 in order. */
  static __m512i e4m3_words(const uint8_t* source) {
    return e4m3_words(byte_pairs(load_bytes<32>(source), 0), 0x5555555555555555u, 0xaaaaaaaaaaaaaaaau);
  }
  static __m512i spread_e4m3(__m512i bytes) { return _mm512_permutexvar_epi8(_mm512_load_si512(kAvx512E4m3Tables.place), bytes); }

  /** Columns 0 .. 31 in the first 32 bytes as floats: tables give the two bytes of a bfloat16, and words 0, 2, 4 ... are the first half. */
  static void e4m3_floats(__m512i bytes, Float (&w)[2]) {
    const __m512i words = e4m3_words(spread_e4m3(bytes), 0x5555555555555555u, 0xaaaaaaaaaaaaaaaau);
    w[0] = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    w[1] = _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }

  /** 32 numbers of E4M3, or E2M1 doubled. */
  template <bool IsE4m3, bool>
  static void elements32(const uint8_t* source, Float (&w)[2]) {
    if constexpr (IsE4m3) {
      e4m3_floats(load_bytes<32>(source), w);
    } else {
      const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
      Int lanes[2];
      lanes32<4>(source, lanes);
      for (int half = 0; half < 2; ++half) w[half] = _mm512_permutexvar_ps(lanes[half], table);
    }
  }

  /** Up to 4 bits the 2^Bits possible weights fit a register: a permutation looks them up by the low 4 bits of a lane. */
  template <int Bits>
  struct Dequantizer {
    static constexpr bool kIsTable = Bits <= 4;
    Float scale;
    Float bias;

    Dequantizer(float s, float b) : scale(set(s)), bias(set(b)) {
      if constexpr (kIsTable) {
        const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m512i code = _mm512_and_si512(lane, _mm512_set1_epi32((1 << Bits) - 1));
        scale = fma(_mm512_cvtepi32_ps(code), scale, bias);  // now the table
      }
    }

    void decode32(const uint8_t* source, Float (&w)[2]) const {
      if constexpr (kIsTable) {
        Int lanes[2];
        lanes32<Bits>(source, lanes);
        for (int half = 0; half < 2; ++half) w[half] = _mm512_permutexvar_ps(lanes[half], scale);
      } else {
        codes32<Bits>(source, w);
        for (int half = 0; half < 2; ++half) w[half] = fma(w[half], scale, bias);
      }
    }
  };

  /** 64 codes as bytes in their natural order. */
  template <int Bits>
  static __m512i codes64(const uint8_t* source) {
    return spread_codes<Bits>(load_bytes<8 * Bits>(source));
  }

  /** The same from a register whose first 8 * Bits bytes are the packed codes. */
  template <int Bits>
  static __m512i spread_codes(__m512i packed) {
    if constexpr (Bits == 8) return packed;
    const __m512i moved = _mm512_permutexvar_epi8(_mm512_load_si512(kAvx512ByteLayout<Bits>.byte), packed);
    const __m512i cut = _mm512_multishift_epi64_epi8(_mm512_load_si512(kAvx512ByteLayout<Bits>.shift), moved);
    return _mm512_and_si512(cut, _mm512_set1_epi8(static_cast<char>((1 << Bits) - 1)));
  }

  /** Natural order: 64 columns, lane l sums columns 4l .. 4l+3. */
  template <int Bits, int Unit, bool IsE2m1 = false>
  struct DotStep {
    static constexpr uint32_t kColumns = 64;
    static constexpr uint32_t kUnits = kColumns / Unit;
    static constexpr int kOffset = 0;
    using Codes = __m512i;

    static Codes decode(const uint8_t* source) { return codes64<Bits>(source); }
    static Int dot(Codes codes, const int8_t* x) { return _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, _mm512_load_si512(x)); }
    static Float spread(const float* product) {
      if constexpr (kUnits == 1) return _mm512_set1_ps(*product);
      return spread_units<kUnits>(product);
    }
  };

  /** 4 bits: 64 bytes are 128 columns; lane l sums columns 8l .. 8l+7, the even ones from the low nibbles. */
  template <int Unit, bool IsE2m1>
  struct DotStep<4, Unit, IsE2m1> {
    static constexpr uint32_t kColumns = 128;
    static constexpr uint32_t kUnits = kColumns / Unit;
    static constexpr int kOffset = IsE2m1 ? -kE2m1Zero : 0;
    struct Codes {
      __m512i even;
      __m512i odd;
    };

    static Codes decode(const uint8_t* source) {
      __m512i packed = _mm512_loadu_si512(source);
      asm("" : "+v"(packed));  // rows are rarely aligned to cache lines: read them once, not once per use
      // As a product where both parts of the codes are looked up: a shift would compete with the shuffles.
      const __m512i odd = IsE2m1 ? _mm512_mulhi_epu16(packed, _mm512_set1_epi16(4096)) : _mm512_srli_epi16(packed, 4);
      return {nibbles<IsE2m1>(packed), nibbles<IsE2m1>(odd)};
    }
    static Int dot(Codes codes, const int8_t* x) {
      const __m512i even = _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes.even, _mm512_load_si512(x));
      return _mm512_dpbusd_epi32(even, codes.odd, _mm512_load_si512(x + 64));
    }
    static Float spread(const float* product) { return spread_units<kUnits>(product); }
  };

  /** The low halves of bytes: as they are, or their E2M1 numbers from kE2m1Shifted, by an index of six bits into four copies. */
  template <bool IsE2m1>
  static __m512i nibbles(__m512i bytes) {
    if constexpr (!IsE2m1) return _mm512_and_si512(bytes, _mm512_set1_epi8(15));
    return _mm512_permutexvar_epi8(bytes, _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Shifted))));
  }

  /** Two, four or eight consecutive floats, each over its part of the lanes. */
  template <uint32_t Units>
  static Float spread_units(const float* product) {
    if constexpr (Units == 2) {
      const __m512 pair = _mm512_castpd_ps(_mm512_set1_pd(read_unaligned<double>(product)));
      return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1), pair);
    } else if constexpr (Units == 8) {
      const __m512 eight = _mm512_castps256_ps512(_mm256_loadu_ps(product));
      return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), eight);
    } else {
      const __m512 four = _mm512_broadcast_f32x4(_mm_loadu_ps(product));
      return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), four);
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
