#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "scalar_type.h"

/**
 * Vectors of the widest registers of an instruction set, as compiler vector extensions. The kernel sources are compiled
 * once per instruction set, each time with other flags and in another namespace, so nothing here may be shared between
 * them: a template of the standard library that the linker merges could carry AVX-512 code into the generic kernels.
 */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

#if defined(__AVX512F__)
inline constexpr uint32_t kLanes = 16;
#elif defined(__AVX2__)
inline constexpr uint32_t kLanes = 8;
#else
inline constexpr uint32_t kLanes = 4;
#endif

typedef float F32 __attribute__((vector_size(kLanes * 4)));
typedef int32_t I32 __attribute__((vector_size(kLanes * 4)));
typedef uint32_t U32 __attribute__((vector_size(kLanes * 4)));
typedef uint16_t U16 __attribute__((vector_size(kLanes * 2)));
typedef float F32x4 __attribute__((vector_size(16)));

/** Every lane `value`, also -0. */
inline F32 splat(float value) { return value - F32{}; }

inline F32 load(const float* from) {
  F32 v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void store(float* to, F32 v) { __builtin_memcpy(to, &v, sizeof v); }

/** The first `count` elements, then zeros. */
inline F32 load(const float* from, uint32_t count) {
  if (count >= kLanes) return load(from);
  F32 v = {};
  __builtin_memcpy(&v, from, count * sizeof(float));
  return v;
}

inline void store(float* to, F32 v, uint32_t count) { __builtin_memcpy(to, &v, (count < kLanes ? count : kLanes) * sizeof(float)); }

/** a * b + c, with one rounding where the instruction set has it and with two where not: never a mixture. */
inline F32 fma(F32 a, F32 b, F32 c) {
#if defined(__AVX512F__)
  return (F32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (F32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON)
  return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

inline F32 select(I32 mask, F32 yes, F32 no) { return (F32)((mask & (I32)yes) | (~mask & (I32)no)); }

/** The larger one; `b` where one of them is NaN. */
inline F32 larger(F32 a, F32 b) {
#if defined(__AVX512F__)
  return (F32)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (F32)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return select(a > b, a, b);
#endif
}

/** Lanes i, i + 4, i + 8 ... summed by halves. */
inline F32x4 fold(F32 v) {
#if defined(__AVX512F__)
  typedef float F32x8 __attribute__((vector_size(32)));
  const F32x8 half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
#elif defined(__AVX2__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}

/** Sum of all lanes, by halves. */
inline float sum(F32 v) {
  const F32x4 f = fold(v);
  return (f[0] + f[2]) + (f[1] + f[3]);
}

/** The sums of four vectors, each with the bits of `sum`. */
inline F32x4 sum4(F32 a, F32 b, F32 c, F32 d) {
  const F32x4 fa = fold(a), fb = fold(b), fc = fold(c), fd = fold(d);
  const F32x4 ab = __builtin_shufflevector(fa, fb, 0, 4, 1, 5) + __builtin_shufflevector(fa, fb, 2, 6, 3, 7);
  const F32x4 cd = __builtin_shufflevector(fc, fd, 0, 4, 1, 5) + __builtin_shufflevector(fc, fd, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/** Largest lane. NaN lanes may or may not be seen. */
inline float largest(F32 v) {
  float best = v[0];
  for (uint32_t i = 1; i < kLanes; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

inline bool any(I32 mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256((__m256i)mask, (__m256i)mask) == 0;
#else
  const int32_t bits = (mask[0] | mask[1]) | (mask[2] | mask[3]);
  return bits != 0;
#endif
}

inline F32 from_bf16(U16 v) { return (F32)(__builtin_convertvector(v, U32) << 16); }

/** Rounds to the nearest bf16, ties to even; NaN stays NaN. */
inline U16 to_bf16(F32 v) {
  const U32 bits = (U32)v;
  const U32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const U32 quiet = (bits >> 16) | 0x40u;
  const U32 is_nan = (U32)(v != v);
  return __builtin_convertvector((is_nan & quiet) | (~is_nan & rounded), U16);
}

/** Exact: the exponent is moved by a multiplication, which also normalises subnormal numbers. */
inline F32 from_f16(U16 v) {
  const U32 wide = __builtin_convertvector(v, U32);
  const U32 sign = (wide & 0x8000u) << 16;
  const F32 magnitude = (F32)((wide & 0x7fffu) << 13) * splat(0x1p112f);
  const U32 is_special = (U32)((wide & 0x7c00u) == 0x7c00u);
  return (F32)((U32)magnitude | (is_special & 0x7f800000u) | sign);
}

/** `count` elements of a stored array from element `index`, then zeros. */
template <ScalarType type>
inline F32 load_as(const void* base, size_t index, uint32_t count) {
  if constexpr (type == kScalarF32) {
    return load(static_cast<const float*>(base) + index, count);
  } else {
    const uint16_t* from = static_cast<const uint16_t*>(base) + index;
    U16 v = {};
    if (count >= kLanes) {
      __builtin_memcpy(&v, from, sizeof v);
    } else {
      __builtin_memcpy(&v, from, count * sizeof(uint16_t));
    }
    return type == kScalarBf16 ? from_bf16(v) : from_f16(v);
  }
}

/** Calls f(index, count) for every vector of a row; count < kLanes only for the last one. */
template <typename F>
inline void for_each_vector(uint32_t width, F&& f) {
  uint32_t i = 0;
  for (; i + kLanes <= width; i += kLanes) f(i, kLanes);
  if (i < width) f(i, width - i);
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
