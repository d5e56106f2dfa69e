#pragma once

#include "weight_row.h"

namespace markbase::cpu {
namespace {

/**
 * One weight row as float32. Small floats: element * scale, exact. Affine: code * scale rounded, then + bias rounded, never fused (the build sets
 * -ffp-contract=off), so every instruction set gives the same bits.
 */
template <class Simd>
inline void dequantize_weight_row(const WeightView& weight, uint32_t row, float* out) {
  const uint8_t* source = weight_row(weight, row);
  if (!is_quantized(weight.format)) {
    const ScalarType type = weight.format == kWeightF32 ? kScalarF32 : weight.format == kWeightBf16 ? kScalarBf16 : kScalarF16;
    load_scalars<Simd>(type, source, 0, weight.in, out);
    return;
  }
  if (weight.format != kWeightAffine) {
    visit_small_floats(weight.format, [&](auto tag) {
      constexpr WeightFormat kFormat = decltype(tag)::kFormat;
      const uint8_t* scales = static_cast<const uint8_t*>(weight.scales) + size_t{row} * (weight.in / weight.group);
      const auto scale = [&](uint32_t group) { return Simd::set(small_scale<kFormat>(scales[group]) * kElementUnit<kFormat>); };
      typename Simd::Float w[32 / Simd::kLanes];
      for (uint32_t k = 0; k < weight.in; k += 32) {
        load_small_floats<Simd, kFormat, true>(source, k, scale, w);
        for (uint32_t v = 0; v < 32 / Simd::kLanes; ++v) Simd::store(out + k + v * Simd::kLanes, w[v]);
      }
    });
    return;
  }
  visit_bits(weight.bits, [&](auto tag) {
    constexpr int kBits = decltype(tag)::kBits;
    const uint32_t groups = weight.in / weight.group;
    const uint32_t bytes = scalar_bytes(weight.scale_type);
    for (uint32_t k = 0; k < weight.in; k += 32, source += 4 * kBits) {
      const size_t group = size_t{row} * groups + k / weight.group;
      const auto scale = Simd::set(scalar_to_float(weight.scale_type, static_cast<const uint8_t*>(weight.scales) + group * bytes));
      const auto bias = Simd::set(scalar_to_float(weight.scale_type, static_cast<const uint8_t*>(weight.biases) + group * bytes));
      typename Simd::Float codes[32 / Simd::kLanes];
      Simd::template codes32<kBits>(source, codes);
      for (uint32_t v = 0; v < 32 / Simd::kLanes; ++v) {
        Simd::store(out + k + v * Simd::kLanes, Simd::add(Simd::multiply(codes[v], scale), bias));
      }
    }
  });
}

}  // namespace
}  // namespace markbase::cpu
