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
    const char* small[] = {"mxfp4", "mxfp8", "nvfp4"};
    if (view.format > kWeightAffine) {
      snprintf(text, sizeof text, "[%u, %u] %s", view.out, view.in, small[view.format - kWeightMxfp4]);
    } else if (view.format == kWeightAffine) {
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

/** A number with `exponent_bits` and `fraction_bits` below its sign, from the definition. */
inline double small_float(uint32_t code, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> fraction_bits & ((1u << exponent_bits) - 1));
  const double fraction = static_cast<double>(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return (code >> (exponent_bits + fraction_bits) & 1) != 0 ? -magnitude : magnitude;
}

/**
 * Elements of all codes but NaN, in every other 256 columns only normal numbers; scales around 1/64 and, with `has_extremes`, of all bytes but NaN whose products are normal float32 numbers.
 */
inline LinearCase small_float_case(WeightFormat format, uint32_t out, uint32_t in, size_t slack, bool has_extremes, std::mt19937& random) {
  LinearCase c{};
  const bool is_e4m3 = format == kWeightMxfp8, is_nvfp4 = format == kWeightNvfp4;
  const uint32_t bits = is_e4m3 ? 8 : 4, group = is_nvfp4 ? 16 : 32;
  c.weight = std::make_unique<GuardedBuffer>(size_t{out} * in * bits / 8, slack);
  c.scales = std::make_unique<GuardedBuffer>(size_t{out} * in / group, slack);
  memset(c.weight->data(), 0, size_t{out} * in * bits / 8);
  double scale = 0;
  for (size_t i = 0; i < size_t{out} * in; ++i) {
    if (i % group == 0) {
      uint32_t byte = is_nvfp4 ? 8 + random() % 12 : 121 + random() % 3;
      if (has_extremes) byte = is_nvfp4 ? random() % 127 : 10 + random() % 235;
      c.scales->data()[i / group] = static_cast<uint8_t>(byte);
      scale = is_nvfp4 ? small_float(byte, 4, 3) : std::ldexp(1.0, static_cast<int>(byte) - 127);
    }
    uint32_t code = random() & ((1u << bits) - 1);
    if (is_e4m3 && (code & 127) == 127) code ^= 1;
    if (is_e4m3 && (code & 127) < 8 && (i / in + i % in / 256) % 2 == 0) code |= 8;
    c.weight->data()[i * bits / 8] |= static_cast<uint8_t>(code << i * bits % 8);
    // Adding 0 makes the sign of a zero positive.
    const double value = small_float(code, is_e4m3 ? 4 : 2, is_e4m3 ? 3 : 1) * scale + 0.0;
    c.value.push_back(value);
    c.rounded.push_back(static_cast<float>(value));
    // Integer products take E2M1 numbers as whole numbers from -12 to 12, or from 0 to 24.
    c.magnitude.push_back(std::fabs(value) + (is_e4m3 ? 0 : 6 * scale));
  }
  c.view = {format, bits, group, kScalarF32, out, in, c.weight->data(), c.scales->data(), nullptr};
  return c;
}

}  // namespace markbase::test
