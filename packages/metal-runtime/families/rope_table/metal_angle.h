#pragma once

/**
 * Cosine and sine of a float32 angle, almost always correctly rounded. Angles of long contexts are thousands of turns: they are reduced
 * with pi/2 in three parts, and the rounding error is kept separately. Metal has no double. Metal only; the including file has
 * metal_stdlib.
 */

#pragma METAL fp contract(off)

/** An angle as quarter turns and a remainder, high + low. */
struct ReducedAngle {
  int quarters;
  float high;
  float low;
};

inline ReducedAngle reduce_angle(float angle) {
  const float quarters = rint(angle * 0.63661977f);
  // pi/2 in three floats; the first products are exact, because every fma rounds once and the remainder is small.
  const float first = fma(-quarters, 1.57079637050628662109375f, angle);
  const float product = quarters * -4.37113900018624283e-8f;
  const float product_rest = fma(quarters, -4.37113900018624283e-8f, -product);
  const float high = first - product;
  const float back = high - first;
  const float rest = (first - (high - back)) - (product + back);
  return {int(quarters), high, rest - product_rest - quarters * -1.71512451000588e-15f};
}

/** sin(high + low) for |high| <= pi/4. */
inline float sine_near_zero(float high, float low) {
  const float square = high * high;
  float series = fma(square, 2.7183114939898219064e-6f, -1.98393348360966317347e-4f);
  series = fma(square, series, 8.3333293858894631756e-3f);
  series = fma(square, series, -0.166666666416265235595f);
  return high + fma(high * square, series, low);
}

/** cos(high + low) for |high| <= pi/4. */
inline float cosine_near_zero(float high, float low) {
  const float square = high * high;
  const float square_rest = fma(high, high, -square);
  float series = fma(square, 2.44331571180948e-5f, -1.38873162038912e-3f);
  series = fma(square, series, 4.16666457080420e-2f);
  const float half_square = 0.5f * square;
  const float one_less = 1.0f - half_square;
  const float lost = (1.0f - one_less) - half_square;
  return one_less + (fma(square * square, series, lost) - fma(high, low, 0.5f * square_rest));
}

/** Cosine and sine of an angle. */
inline float2 cosine_and_sine(float angle) {
  const ReducedAngle reduced = reduce_angle(angle);
  const float sine = sine_near_zero(reduced.high, reduced.low);
  const float cosine = cosine_near_zero(reduced.high, reduced.low);
  const bool is_swapped = (reduced.quarters & 1) != 0;
  const float cosine_size = is_swapped ? sine : cosine;
  const float sine_size = is_swapped ? cosine : sine;
  return float2(((reduced.quarters + 1) & 2) != 0 ? -cosine_size : cosine_size, (reduced.quarters & 2) != 0 ? -sine_size : sine_size);
}
