#pragma once

#include "vector_math.h"

/**
 * Operations of kernels on one row. Plain and fused kernels call the same functions, so that a fused command gives the bits
 * of the plain ones.
 */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** (mean(x^2) + eps)^(-1/2). The order of the sum depends on `width` alone. */
inline float norm_factor(const float* x, uint32_t width, float eps) {
  F32 s0 = {}, s1 = {}, s2 = {}, s3 = {};
  uint32_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    const F32 v0 = load(x + i), v1 = load(x + i + kLanes);
    const F32 v2 = load(x + i + 2 * kLanes), v3 = load(x + i + 3 * kLanes);
    s0 = fma(v0, v0, s0);
    s1 = fma(v1, v1, s1);
    s2 = fma(v2, v2, s2);
    s3 = fma(v3, v3, s3);
  }
  for (; i < width; i += kLanes) {
    const F32 v = load(x + i, width - i);
    s0 = fma(v, v, s0);
  }
  return 1.0f / __builtin_sqrtf(sum((s0 + s1) + (s2 + s3)) / static_cast<float>(width) + eps);
}

/** Calls f with the gain's element type as a template argument. */
template <typename F>
inline void with_scalar_type(uint32_t type, F&& f) {
  switch (type) {
    case kScalarF32: return f.template operator()<kScalarF32>();
    case kScalarBf16: return f.template operator()<kScalarBf16>();
    default: return f.template operator()<kScalarF16>();
  }
}

/**
 * Calls f(i, n, v) for every vector v of x * factor * gain, where a null gain means none. Both norms below share it, so
 * that they agree in every bit.
 */
template <typename F>
inline void for_each_normalised(const float* x, uint32_t width, float eps, const void* gain, uint32_t gain_type, F&& f) {
  const F32 factor = splat(norm_factor(x, width, eps));
  if (gain == nullptr) {
    for_each_vector(width, [&](uint32_t i, uint32_t n) { f(i, n, load(x + i, n) * factor); });
    return;
  }
  with_scalar_type(gain_type, [&]<ScalarType type>() {
    for_each_vector(width, [&](uint32_t i, uint32_t n) { f(i, n, load(x + i, n) * factor * load_as<type>(gain, i, n)); });
  });
}

/** y = x * factor * gain. y may be x. */
inline void norm_row(const float* x, uint32_t width, float eps, const void* gain, uint32_t gain_type, float* y) {
  for_each_normalised(x, width, eps, gain, gain_type, [&](uint32_t i, uint32_t n, F32 v) { store(y + i, v, n); });
}

/** y = (residual + x * factor * gain) * scale. y may be x or the residual. */
inline void norm_add_row(
    const float* x, uint32_t width, float eps, const void* gain, uint32_t gain_type, const float* residual, float scale, float* y) {
  const F32 s = splat(scale);
  for_each_normalised(x, width, eps, gain, gain_type,
                      [&](uint32_t i, uint32_t n, F32 v) { store(y + i, (load(residual + i, n) + v) * s, n); });
}

/** y = (a + b) * scale. y may be either operand. */
inline void add_row(const float* a, const float* b, uint32_t width, float scale, float* y) {
  const F32 s = splat(scale);
  for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, (load(a + i, n) + load(b + i, n)) * s, n); });
}

/** y = gelu_tanh(gate) * up. y may be either operand. */
inline void geglu_row(const float* gate, const float* up, uint32_t width, float* y) {
  for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, gelu_tanh(load(gate + i, n)) * load(up + i, n), n); });
}

/** y = cap * tanh(x / cap). y may be x. */
inline void softcap_row(const float* x, uint32_t width, float cap, float* y) {
  const F32 c = splat(cap);
  for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, softcap(load(x + i, n), c), n); });
}

/** y = min(max(x, low), high), where NaN stays NaN. y may be x. */
inline void clamp_row(const float* x, uint32_t width, float low, float high, float* y) {
  const F32 least = splat(low), most = splat(high);
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    const F32 v = load(x + i, n);
    store(y + i, select(v < least, least, select(v > most, most, v)), n);
  });
}

/** Rotates the pairs (i, i + width/2) of one head; `table` holds width/2 cosines, then width/2 sines. y may be x. */
inline void rope_head(const float* x, const float* table, uint32_t width, float* y) {
  const uint32_t pairs = width / 2;
  for_each_vector(pairs, [&](uint32_t i, uint32_t n) {
    const F32 a = load(x + i, n), b = load(x + pairs + i, n);
    const F32 cosine = load(table + i, n), sine = load(table + pairs + i, n);
    store(y + i, a * cosine - b * sine, n);
    store(y + pairs + i, b * cosine + a * sine, n);
  });
}

/** Rotates each of the `axes` equal parts of one head by its own part of the table. y may be x. */
inline void rope_axes(const float* x, const float* table, uint32_t width, uint32_t axes, float* y) {
  const uint32_t part = width / axes;
  for (uint32_t begin = 0; begin < width; begin += part) rope_head(x + begin, table + begin, part, y + begin);
}

/** Stores `width` elements in the cache's type from element `index` on. */
inline void cache_row(const float* x, uint32_t width, uint32_t cache_type, void* cache, size_t index) {
  if (cache_type == kScalarF32) {
    __builtin_memcpy(static_cast<float*>(cache) + index, x, width * sizeof(float));
    return;
  }
  uint16_t* to = static_cast<uint16_t*>(cache) + index;
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    const U16 v = to_bf16(load(x + i, n));
    __builtin_memcpy(to + i, &v, n * sizeof(uint16_t));
  });
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
