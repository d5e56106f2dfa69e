#pragma once

#include "simd.h"

/** Elementary functions on vectors. Every lane is computed on its own: tails give the same bits as full vectors. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** x = n ln 2 + r with |r| <= ln 2 / 2, for |x| < 2^20; n as a float. */
struct ReducedExponent {
  F32 n;
  I32 n_integer;
  F32 r;
};

inline ReducedExponent reduce_exponent(F32 x) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits, without a conversion that NaN would break.
  const F32 magic = splat(0x1.8p23f);
  const F32 shifted = x * splat(0x1.715476p0f) + magic;
  const F32 n = shifted - magic;
  // The high part of ln 2 has 9 trailing zero bits, so that n * high is exact even without fused instructions.
  const F32 r = fma(n, splat(-0x1.7f7d1cp-20f), fma(n, splat(-0x1.62e4p-1f), x));
  return {n, (I32)shifted - (I32)magic, r};
}

/** e^r - 1 for |r| <= ln 2 / 2, relative error below 2^-23. */
inline F32 expm1_reduced(F32 r) {
  F32 p = splat(1.0f / 5040);
  p = fma(p, r, splat(1.0f / 720));
  p = fma(p, r, splat(1.0f / 120));
  p = fma(p, r, splat(1.0f / 24));
  p = fma(p, r, splat(1.0f / 6));
  p = fma(p, r, splat(0.5f));
  return fma(p, r * r, r);
}

/** 2^n for -127 < n < 128. */
inline F32 power_of_two(I32 n) { return (F32)((n + 127) << 23); }

/** e^x, relative error below 1.2e-7 for normal results; 0 below -104, infinity above 88.73; NaN stays NaN. */
inline F32 exp(F32 x) {
  const F32 bounded = select(x < -104.0f, splat(-104.0f), select(x > 89.0f, splat(89.0f), x));
  const ReducedExponent e = reduce_exponent(bounded);
  // In two factors, because 2^n alone would leave the range of normal numbers before the product does.
  const I32 half = e.n_integer >> 1;
  const F32 y = (expm1_reduced(e.r) + 1.0f) * power_of_two(half) * power_of_two(e.n_integer - half);
  return select(x <= -104.0f, F32{}, y);
}

inline float exp(float x) { return exp(splat(x))[0]; }

/** tanh x = E / (E + 2), E = e^(2|x|) - 1; relative error below 2.5e-7, also near 0; NaN stays NaN. */
inline F32 tanh(F32 x) {
  const I32 sign = (I32)x & INT32_MIN;
  const F32 magnitude = (F32)((I32)x ^ sign);
  // tanh rounds to 1 from 9.02 on.
  const F32 bounded = select(magnitude > 10.0f, splat(10.0f), magnitude);
  const ReducedExponent e = reduce_exponent(bounded + bounded);
  const F32 scale = power_of_two(e.n_integer);
  const F32 growth = fma(expm1_reduced(e.r), scale, scale - 1.0f);
  return (F32)((I32)(growth / (growth + 2.0f)) | sign);
}

/**
 * gelu_tanh(x) = 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), evaluated as x / (1 + e^(-2u)), which does not
 * cancel for negative x. Absolute error below 4e-7 |x|; -infinity gives -0, NaN stays NaN.
 */
inline F32 gelu_tanh(F32 x) {
  const F32 lowest = splat(-0x1.fffffep127f);
  const F32 bounded = select(x < lowest, lowest, x);
  const F32 inner = bounded * fma(bounded * bounded, splat(0.044715f), splat(1.0f));
  return bounded / (exp(inner * splat(-1.5957691216057308f)) + 1.0f);
}

/** 1 / (1 + e^-x); relative error below 2.5e-7. */
inline F32 sigmoid(F32 x) { return 1.0f / (exp(-x) + 1.0f); }

/** cap tanh(x / cap). */
inline F32 softcap(F32 x, F32 cap) { return cap * tanh(x / cap); }

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
