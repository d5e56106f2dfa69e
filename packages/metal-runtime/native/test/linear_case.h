#pragma once

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "guarded_buffer.h"
#include "linear_core.h"

namespace markbase::test {

using namespace markbase::cpu;

/** Stores `value` rounded as `type` and returns what was stored. */
inline float store_scalar(ScalarType type, float value, uint8_t* target) {
  if (type == kScalarF32) {
    memcpy(target, &value, 4);
    return value;
  }
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (type == kScalarBf16) {
    const auto half = static_cast<uint16_t>(bits >> 16);
    memcpy(target, &half, 2);
    bits &= 0xffff0000u;
    memcpy(&value, &bits, 4);
    return value;
  }
  // Half precision by truncation of a normal number within its range; smaller values become a signed zero.
  const uint32_t sign = bits >> 31;
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 15;
  const uint32_t fraction = bits >> 13 & 0x3ff;
  const bool is_zero = exponent <= 0;
  const auto half = static_cast<uint16_t>(sign << 15 | (is_zero ? 0 : static_cast<uint32_t>(exponent) << 10 | fraction));
  memcpy(target, &half, 2);
  if (is_zero) return sign != 0 ? -0.0f : 0.0f;
  bits &= 0xffffe000u;
  memcpy(&value, &bits, 4);
  return value;
}

/** A random weight matrix at the end of its pages, and its values in float64. */
struct LinearCase {
  WeightView view;
  std::unique_ptr<GuardedBuffer> weight, scales, biases;
  std::vector<double> value;      // [out, in]
  std::vector<double> magnitude;  // [out, in] |code * scale| + |bias|: what rounding errors are measured against
  std::vector<float> rounded;     // [out, in] code * scale rounded, + bias rounded

  std::string name() const {
    const char* types[] = {"f32", "bf16", "f16"};
    char text[96];
    if (view.format == kWeightAffine) {
      snprintf(text, sizeof text, "[%u, %u] %u bits, group %u, %s", view.out, view.in, view.bits, view.group, types[view.scale_type]);
    } else {
      snprintf(text, sizeof text, "[%u, %u] %s", view.out, view.in, types[view.format]);
    }
    return text;
  }
};

inline LinearCase plain_case(WeightFormat format, uint32_t out, uint32_t in, size_t slack, std::mt19937& random) {
  LinearCase c{};
  const ScalarType type = format == kWeightF32 ? kScalarF32 : format == kWeightBf16 ? kScalarBf16 : kScalarF16;
  const size_t bytes = type == kScalarF32 ? 4 : 2;
  c.weight = std::make_unique<GuardedBuffer>(size_t{out} * in * bytes, slack);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  for (size_t i = 0; i < size_t{out} * in; ++i) {
    const float stored = store_scalar(type, normal(random), c.weight->data() + i * bytes);
    c.rounded.push_back(stored);
    c.value.push_back(stored);
    c.magnitude.push_back(std::fabs(stored));
  }
  c.view = {format, 0, 0, kScalarF32, out, in, c.weight->data(), nullptr, nullptr};
  return c;
}

/** Codes of all values, scales of both signs, biases near -scale * 2^(bits - 1) as quantisers make them. */
inline LinearCase affine_case(
    uint32_t bits, uint32_t group, ScalarType type, uint32_t out, uint32_t in, size_t slack, std::mt19937& random) {
  LinearCase c{};
  const size_t row_bytes = size_t{in} * bits / 8;
  const uint32_t groups = in / group;
  const size_t bytes = type == kScalarF32 ? 4 : 2;
  c.weight = std::make_unique<GuardedBuffer>(out * row_bytes, slack);
  c.scales = std::make_unique<GuardedBuffer>(size_t{out} * groups * bytes, slack);
  c.biases = std::make_unique<GuardedBuffer>(size_t{out} * groups * bytes, slack);
  memset(c.weight->data(), 0, out * row_bytes);
  std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
  for (uint32_t n = 0; n < out; ++n) {
    for (uint32_t g = 0; g < groups; ++g) {
      const size_t index = size_t{n} * groups + g;
      const float sign = random() % 2 != 0 ? 1.0f : -1.0f;
      const float wanted = sign * uniform(random) * 0.2f / static_cast<float>((1u << bits) - 1);
      const float scale = store_scalar(type, wanted, c.scales->data() + index * bytes);
      const float middle = -scale * static_cast<float>(1u << (bits - 1)) * uniform(random);
      const float bias = store_scalar(type, middle, c.biases->data() + index * bytes);
      for (uint32_t i = 0; i < group; ++i) {
        const uint32_t code = random() & ((1u << bits) - 1);
        const size_t first_bit = size_t{g * group + i} * bits;
        for (uint32_t b = 0; b < bits; ++b) {
          const size_t bit = first_bit + b;
          c.weight->data()[n * row_bytes + bit / 8] |= static_cast<uint8_t>((code >> b & 1) << bit % 8);
        }
        volatile float product = static_cast<float>(code) * scale;  // volatile: no fused multiply-add
        c.rounded.push_back(product + bias);
        c.value.push_back(static_cast<double>(code) * scale + bias);
        c.magnitude.push_back(std::fabs(static_cast<double>(code) * scale) + std::fabs(bias));
      }
    }
  }
  c.view = {kWeightAffine, bits, group, type, out, in, c.weight->data(), c.scales->data(), c.biases->data()};
  return c;
}

}  // namespace markbase::test
