#pragma once

#include <immintrin.h>

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** The 8 codes in Bits consecutive bytes as 8 bytes. */
template <int Bits>
inline uint64_t avx2_codes8(const uint8_t* source) {
  const uint64_t packed = read_bytes<Bits>(source);
  if constexpr (Bits == 8) return packed;
  return _pdep_u64(packed, ((1u << Bits) - 1) * 0x0101010101010101u);
}

/** AVX2 with FMA, F16C and BMI2 (Intel from Haswell, AMD from Zen). */
struct Avx2Simd {
  static constexpr uint32_t kLanes = 8;
  static constexpr uint32_t kFloatAccumulators = 8;
  static constexpr uint32_t kNibbleBlock = 64;
  using Float = __m256;
  using Int = __m256i;

  static Float zero() { return _mm256_setzero_ps(); }
  static Float set(float value) { return _mm256_set1_ps(value); }
  static Float load(const float* source) { return _mm256_loadu_ps(source); }
  static void store(float* target, Float value) { _mm256_storeu_ps(target, value); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float to_float(Int v) { return _mm256_cvtepi32_ps(v); }
  static float sum(Float v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  static Float load_scalars(ScalarType type, const uint8_t* source) {
    if (type == kScalarF32) return _mm256_loadu_ps(reinterpret_cast<const float*>(source));
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
    if (type == kScalarF16) return _mm256_cvtph_ps(raw);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }

  /** As load_scalars for the first `count` values; the other lanes are zero and their memory is not read. */
  static Float load_scalars(ScalarType type, const uint8_t* source, uint32_t count) {
    if (count == 4) {  // groups of 128 take this path for every 8 units
      if (type == kScalarF32) return _mm256_zextps128_ps256(_mm_loadu_ps(reinterpret_cast<const float*>(source)));
      const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
      if (type == kScalarF16) return _mm256_cvtph_ps(raw);
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
    }
    float lanes[kLanes] = {};
    for (uint32_t l = 0; l < count; ++l) lanes[l] = scalar_to_float(type, source + l * scalar_bytes(type));
    return load(lanes);
  }

  /** Every lane of the first half twice. */
  static Float repeat_lanes(Float v) { return _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)); }

  /**
   * Fetches the line `bytes` beyond an address into the second-level cache. The first level has too few miss buffers:
   * 24 lines in flight at a latency above 100 ns are 15 GB/s, and demand misses queue behind them.
   */
  static void prefetch(const uint8_t* source, size_t bytes) { _mm_prefetch(ahead(source, bytes), _MM_HINT_T1); }

  template <int Bits>
  static void codes32(const uint8_t* source, Float (&codes)[4]) {
    for (Float& vector : codes) {
      const __m128i bytes = _mm_cvtsi64_si128(static_cast<int64_t>(avx2_codes8<Bits>(source)));
      vector = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
      source += Bits;
    }
  }

  template <int Bits>
  struct Dequantizer {
    Float scale;
    Float bias;
    Dequantizer(float s, float b) : scale(set(s)), bias(set(b)) {}
    void decode32(const uint8_t* source, Float (&w)[4]) const {
      codes32<Bits>(source, w);
      for (Float& vector : w) vector = fma(vector, scale, bias);
    }
  };

  /** 8 scales, 2^(byte - 127); 255 is NaN. */
  static Float from_e8m0(const uint8_t* source) {
    const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(source)));
    // 2^-127 is not a normal float.
    const __m256i bits = _mm256_max_epu32(_mm256_slli_epi32(bytes, 23), _mm256_set1_epi32(0x00400000));
    const __m256i is_nan = _mm256_cmpeq_epi32(bytes, _mm256_set1_epi32(255));
    return _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_srli_epi32(is_nan, 1)));
  }

  /** 8 numbers of E4M3, divided by kE4m3Unit: the bits of a half, moved into place. */
  static constexpr float kE4m3Unit = 256.0f;
  static Float e4m3_parts(const uint8_t* source) {
    const __m128i bytes = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(source))), largest = _mm_set1_epi16(0x3f80);
    const __m128i half = _mm_and_si128(_mm_slli_epi16(bytes, 7), _mm_set1_epi16(static_cast<int16_t>(0xbf80)));
    const __m128i is_nan = _mm_cmpeq_epi16(_mm_and_si128(half, largest), largest);
    return _mm256_cvtph_ps(_mm_or_si128(half, is_nan));
  }

  /** 32 numbers of E4M3: the bits of a float, moved into place, times 2^120. */
  static void e4m3_floats(const uint8_t* source, Float (&w)[4]) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
    const __m256i is_nan = _mm256_cmpeq_epi8(_mm256_add_epi8(bytes, bytes), _mm256_set1_epi8(static_cast<char>(0xfe)));
    for (int v = 0; v < 4; ++v) {
      const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(source + 8 * v)));
      const __m256i bits = _mm256_and_si256(_mm256_slli_epi32(wide, 20), _mm256_set1_epi32(static_cast<int>(0x87f00000u)));
      w[v] = _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0x1p120f));
    }
    if (_mm256_testz_si256(is_nan, is_nan) != 0) return;
    alignas(32) int8_t nan_bytes[32];
    _mm256_store_si256(reinterpret_cast<__m256i*>(nan_bytes), is_nan);
    for (int v = 0; v < 4; ++v) {
      const __m256i nan = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(nan_bytes + 8 * v)));
      w[v] = _mm256_or_ps(w[v], _mm256_castsi256_ps(nan));
    }
  }

  /** 32 numbers of E4M3, or E2M1 doubled. Where sums need most registers, the single check for NaN would cost more than many. */
  template <bool IsE4m3, bool HasFewSums>
  static void elements32(const uint8_t* source, Float (&w)[4]) {
    if constexpr (IsE4m3 && HasFewSums) {
      e4m3_floats(source, w);
    } else if constexpr (IsE4m3) {
      for (int v = 0; v < 4; ++v) w[v] = _mm256_mul_ps(e4m3_parts(source + 8 * v), _mm256_set1_ps(kE4m3Unit));
    } else {
      const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
      const __m128i low = _mm_set1_epi8(15), table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Doubled));
      const __m128i even = _mm_shuffle_epi8(table, _mm_and_si128(packed, low));
      const __m128i odd = _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(packed, 4), low));
      const __m128i bytes[2] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
      for (int v = 0; v < 4; ++v) {
        const __m256i whole = _mm256_cvtepi8_epi32(v % 2 == 0 ? bytes[v / 2] : _mm_srli_si128(bytes[v / 2], 8));
        w[v] = _mm256_cvtepi32_ps(whole);
      }
    }
  }

  /** 4-bit codes in bytes: as they are, or their E2M1 numbers from kE2m1Shifted. */
  template <bool IsE2m1>
  static __m256i number(__m256i codes) {
    if constexpr (!IsE2m1) return codes;
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Shifted))), codes);
  }

  /** Sums of adjacent pairs of 16-bit sums. */
  static Int add_pairs(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }

  /**
   * Natural order, 32 codes per register. Pairs of products are added in 16 bits: 2 * 63 * 127 fits for codes of up to 6 bits, and so do
   * two such sums. From 8-bit codes, 128 is subtracted first; then |q| <= 128 times the activation with q's sign gives at most 2 * 128 *
   * 127 = 32512, which fits only once.
   */
  template <int Bits, int Unit, bool IsE2m1 = false>
  struct DotStep {
    static constexpr uint32_t kColumns = Unit;
    static constexpr uint32_t kUnits = 1;
    static constexpr int kOffset = Bits == 8 ? 128 : 0;
    struct Codes {
      __m256i part[Unit / 32];
    };

    static Codes decode(const uint8_t* source) {
      Codes codes;
      for (__m256i& part : codes.part) {
        if constexpr (Bits == 8) {
          const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
          part = _mm256_xor_si256(raw, _mm256_set1_epi8(-128));
        } else {
          part = _mm256_set_epi64x(static_cast<int64_t>(avx2_codes8<Bits>(source + 3 * Bits)),
                                   static_cast<int64_t>(avx2_codes8<Bits>(source + 2 * Bits)),
                                   static_cast<int64_t>(avx2_codes8<Bits>(source + Bits)), static_cast<int64_t>(avx2_codes8<Bits>(source)));
        }
        source += 4 * Bits;
      }
      return codes;
    }

    static __m256i pairs(__m256i codes, const int8_t* x) {
      const __m256i activations = _mm256_load_si256(reinterpret_cast<const __m256i*>(x));
      if constexpr (Bits == 8) {
        return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(activations, codes));
      } else {
        return _mm256_maddubs_epi16(codes, activations);
      }
    }

    static Int dot(const Codes& codes, const int8_t* x) {
      __m256i sums = pairs(codes.part[0], x);
      if constexpr (Unit == 32) return add_pairs(sums);
      const __m256i second = pairs(codes.part[Unit / 32 - 1], x + 32);
      if constexpr (Bits == 8) return _mm256_add_epi32(add_pairs(sums), add_pairs(second));
      return add_pairs(_mm256_add_epi16(sums, second));
    }

    static Float spread(const float* product) { return _mm256_broadcast_ss(product); }
  };

  /** 4 bits: 32 bytes are 64 columns; lane l sums columns 8l .. 8l+7, the even ones from the low nibbles. */
  template <int Unit, bool IsE2m1>
  struct DotStep<4, Unit, IsE2m1> {
    static constexpr uint32_t kColumns = 64;
    static constexpr uint32_t kUnits = kColumns / Unit;
    static constexpr int kOffset = IsE2m1 ? -kE2m1Zero : 0;
    struct Codes {
      __m256i even;
      __m256i odd;
    };

    static Codes decode(const uint8_t* source) {
      const __m256i packed = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
      const __m256i low = _mm256_set1_epi8(15);
      return {number<IsE2m1>(_mm256_and_si256(packed, low)), number<IsE2m1>(_mm256_and_si256(_mm256_srli_epi16(packed, 4), low))};
    }
    static Int dot(const Codes& codes, const int8_t* x) {
      const auto* activations = reinterpret_cast<const __m256i*>(x);
      const __m256i even = _mm256_maddubs_epi16(codes.even, _mm256_load_si256(activations));
      const __m256i odd = _mm256_maddubs_epi16(codes.odd, _mm256_load_si256(activations + 1));
      return add_pairs(_mm256_add_epi16(even, odd));
    }
    static Float spread(const float* product) {
      if constexpr (kUnits == 1) return _mm256_broadcast_ss(product);
      if constexpr (kUnits == 4) {
        const __m256 four = _mm256_castps128_ps256(_mm_loadu_ps(product));
        return _mm256_permutevar8x32_ps(four, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
      }
      const __m256 pair = _mm256_castpd_ps(_mm256_set1_pd(read_unaligned<double>(product)));
      return _mm256_permutevar8x32_ps(pair, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    }
  };
};

}  // namespace
}  // namespace markbase::cpu
