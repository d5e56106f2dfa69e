#pragma once

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** Bytes of one weight row. */
inline size_t weight_row_bytes(const WeightView& weight) {
  switch (weight.format) {
    case kWeightF32: return size_t{weight.in} * 4;
    case kWeightAffine: return size_t{weight.in} * weight.bits / 8;
    default: return size_t{weight.in} * 2;
  }
}

/** First byte of weight row `row`. */
inline const uint8_t* weight_row(const WeightView& weight, uint32_t row) {
  return static_cast<const uint8_t*>(weight.weight) + row * weight_row_bytes(weight);
}

/** `count` stored scalars from index `first` on as floats in out[0..count); reads nothing beyond them. */
template <class Simd>
inline void load_scalars(ScalarType type, const void* base, size_t first, uint32_t count, float* out) {
  const uint32_t bytes = scalar_bytes(type);
  const uint8_t* source = static_cast<const uint8_t*>(base) + first * bytes;
  uint32_t i = 0;
  for (; i + Simd::kLanes <= count; i += Simd::kLanes, source += Simd::kLanes * bytes) {
    Simd::store(out + i, Simd::load_scalars(type, source));
  }
  if (i == count) return;
  float rest[Simd::kLanes];
  Simd::store(rest, Simd::load_scalars(type, source, count - i));
  memcpy(out + i, rest, (count - i) * sizeof(float));
}

/** A bit width as a type. */
template <int Bits>
struct BitsTag {
  static constexpr int kBits = Bits;
};

/** Calls visitor(BitsTag<bits>{}), so that code for one width is compiled for it. */
template <class Visitor>
inline void visit_bits(uint32_t bits, Visitor&& visitor) {
  switch (bits) {
    case 2: return visitor(BitsTag<2>{});
    case 3: return visitor(BitsTag<3>{});
    case 4: return visitor(BitsTag<4>{});
    case 5: return visitor(BitsTag<5>{});
    case 6: return visitor(BitsTag<6>{});
    default: return visitor(BitsTag<8>{});
  }
}

}  // namespace
}  // namespace markbase::cpu
