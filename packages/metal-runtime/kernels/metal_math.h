#pragma once

/**
 * Elementary functions and sums that several families share, so that a fused kernel gives the bits of the plain ones. Metal only; the
 * including file has metal_stdlib. Infinities are never used: fast math may assume that none occur.
 */

#pragma METAL fp contract(off)

/** Replaces minus infinity where scores are compared. */
constant constexpr float kLowest = -3.0e38f;

/** Lanes of a simdgroup. */
constant constexpr uint kLanes = 32;

/** Threads of the threadgroups that work on a whole row. */
constant constexpr uint kRowThreads = 256;

/** Simdgroups of such a threadgroup. */
constant constexpr uint kRowSimdgroups = kRowThreads / kLanes;

/** Vectors up to this width are summed by one simdgroup, wider ones by kRowThreads threads; everywhere the same. */
constant constexpr uint kSimdgroupWidth = 1024;

/** True for neither NaN nor infinity, also under fast math. */
inline bool is_finite_number(float x) { return (as_type<uint>(x) & 0x7f800000u) != 0x7f800000u; }

/** True for NaN, also under fast math. */
inline bool is_nan(float x) { return (as_type<uint>(x) & 0x7fffffffu) > 0x7f800000u; }

/** x = n ln 2 + r with |r| <= ln 2 / 2. The high part of ln 2 has trailing zero bits: n * high is exact. */
struct ReducedExponent {
  int n;
  float r;
};

inline ReducedExponent reduce_exponent(float x) {
  const float n = rint(x * 1.44269502f);
  return {int(n), fma(n, -1.42860677e-6f, fma(n, -0.693145752f, x))};
}

/** e^r - 1 for |r| <= ln 2 / 2. */
inline float expm1_reduced(float r) {
  float p = 1.0f / 5040.0f;
  p = fma(p, r, 1.0f / 720.0f);
  p = fma(p, r, 1.0f / 120.0f);
  p = fma(p, r, 1.0f / 24.0f);
  p = fma(p, r, 1.0f / 6.0f);
  p = fma(p, r, 0.5f);
  return fma(p, r * r, r);
}

/** 2^n for -127 < n < 128. */
inline float power_of_two(int n) { return as_type<float>(uint(n + 127) << 23); }

/** e^x to about 1e-7, for x below 88; 0 far below. The same on every GPU, whatever its own functions do. */
inline float exponential(float x) {
  const ReducedExponent e = reduce_exponent(clamp(x, -104.0f, 88.0f));
  // In two factors, because 2^n alone would leave the range of normal numbers before the product does.
  const int first = e.n / 2;
  const float y = (expm1_reduced(e.r) + 1.0f) * power_of_two(first) * power_of_two(e.n - first);
  return x <= -104.0f ? 0.0f : y;
}

/** ln x for normal x > 0, to about 1e-7. */
inline float logarithm(float x) {
  // x = 2^n (1 + f) with 1 + f from sqrt(1/2) to sqrt(2); ln(1 + f) = f - s (f - r), s = f / (2 + f), r from the series of atanh.
  const uint bits = as_type<uint>(x) + (0x3f800000u - 0x3f3504f3u);
  const float n = float(int(bits >> 23) - 127);
  const float f = as_type<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f), z = s * s;
  float r = 2.0f / 9.0f;
  r = fma(r, z, 2.0f / 7.0f);
  r = fma(r, z, 2.0f / 5.0f);
  r = fma(r, z, 2.0f / 3.0f);
  const float low = fma(n, 1.42860677e-6f, -s * fma(-r, z, f));
  return fma(n, 0.693145752f, f + low);
}

/** gelu_tanh(x) = x / (1 + e^(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). */
inline float gelu_tanh(float x) {
  const float bounded = clamp(x, -1.0e12f, 1.0e12f);
  const float inner = bounded * fma(bounded * bounded, 0.044715f, 1.0f);
  // Far below zero the result is zero, whatever the size of x.
  return (x < 0.0f ? bounded : x) / (exponential(inner * -1.5957691216057308f) + 1.0f);
}

/** 1 / (1 + e^(-x)), without a large exponential on either side. */
inline float sigmoid(float x) {
  const float power = exponential(-fabs(x));
  return is_nan(x) ? x : (x < 0.0f ? power : 1.0f) / (1.0f + power);
}

/** min(max(x, low), high); NaN stays NaN. */
inline float clamped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/** tanh x = E / (E + 2), E = e^(2|x|) - 1: exact near 0 too. */
inline float tangent(float x) {
  // tanh rounds to 1 from 9.02 on.
  const ReducedExponent e = reduce_exponent(2.0f * min(fabs(x), 10.0f));
  const float scale = power_of_two(e.n);
  const float growth = fma(expm1_reduced(e.r), scale, scale - 1.0f);
  const float size = growth / (growth + 2.0f);
  return x < 0.0f ? -size : size;
}

/** cap tanh(x / cap). */
inline float softcap(float x, float cap) { return is_nan(x) ? x : cap * tangent(x / cap); }

/** Larger numbers have larger keys, 0 and -0 the same; NaN has the smallest. */
inline uint order_key(float x) {
  if (is_nan(x)) return 0u;
  const uint bits = x == 0.0f ? 0u : as_type<uint>(x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/** (mean(x^2) + eps)^(-1/2) from the sum of squares. */
inline float norm_factor(float squares, uint width, float eps) { return 1.0f / precise::sqrt(squares / float(width) + eps); }

/**
 * The sum of one value per thread of several simdgroups, returned to all threads. `partial`: a float per simdgroup. Every thread of
 * the threadgroup calls it.
 */
template <uint simdgroups = kRowSimdgroups>
inline float sum_over_threads(float value, threadgroup float* partial, uint simdgroup, uint lane) {
  const float own = simd_sum(value);
  // Results of an earlier sum may still be read.
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) partial[simdgroup] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float total = partial[0];
  for (uint i = 1; i < simdgroups; ++i) total += partial[i];
  return total;
}
