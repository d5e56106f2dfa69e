#pragma once

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** Bytes of one weight row. */
inline size_t weight_row_bytes(const WeightView& weight) {
  switch (weight.format) {
    case kWeightF32: return size_t{weight.in} * 4;
    case kWeightBf16:
    case kWeightF16: return size_t{weight.in} * 2;
    default: return size_t{weight.in} * weight.bits / 8;
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

/** True for codes that the products of `fast` take as 8-bit whole numbers: all but those of mxfp8. */
inline bool has_integer_codes(const WeightView& weight) { return is_quantized(weight.format) && weight.format != kWeightMxfp8; }

/** Bytes of one scale. */
inline uint32_t scale_bytes(const WeightView& weight) { return weight.format == kWeightAffine ? scalar_bytes(weight.scale_type) : 1; }

/** A scale of a format of small floats. */
template <WeightFormat Format>
inline float small_scale(uint8_t byte) {
  return Format == kWeightNvfp4 ? e4m3_to_float(byte) : e8m0_to_float(byte);
}

/** Calls decode(source) for kLanes bytes, of which `count` exist; the others are zero. */
template <class Simd, class Decode>
inline typename Simd::Float decode_scales(const uint8_t* source, uint32_t count, Decode&& decode) {
  if (count >= Simd::kLanes) return decode(source);
  uint8_t padded[16] = {};
  if constexpr (Simd::kLanes == 16) Simd::copy_few(padded, source, count);
  else memcpy(padded, source, count);
  return decode(padded);
}

/** kLanes such scales times kScaleUnit, of which `count` exist; the other lanes are not NaN. */
template <class Simd, WeightFormat Format>
inline typename Simd::Float load_scale_parts(const uint8_t* source, uint32_t count) {
  return decode_scales<Simd>(source, count, [](const uint8_t* bytes) {
    if constexpr (Format == kWeightNvfp4) return Simd::e4m3_parts(bytes);
    else return Simd::from_e8m0(bytes);
  });
}

/** What a scale of load_scale_parts must be multiplied by. */
template <class Simd, WeightFormat Format>
inline constexpr float kScaleUnit = Format == kWeightNvfp4 ? Simd::kE4m3Unit : 1.0f;

/** kLanes such scales, of which `count` exist; the other lanes are not NaN. */
template <class Simd, WeightFormat Format>
inline typename Simd::Float load_small_scales(const uint8_t* source, uint32_t count) {
  const auto parts = load_scale_parts<Simd, Format>(source, count);
  if constexpr (kScaleUnit<Simd, Format> == 1.0f) return parts;
  return Simd::multiply(parts, Simd::set(kScaleUnit<Simd, Format>));
}

/** A bit width as a type, and whether the codes are E2M1 numbers. */
template <int Bits, bool IsE2m1 = false>
struct BitsTag {
  static constexpr int kBits = Bits;
  static constexpr bool kIsE2m1 = IsE2m1;
};

/** A format as a type. */
template <WeightFormat Format>
struct FormatTag {
  static constexpr WeightFormat kFormat = Format;
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

/**
 * Calls visitor(codes, unit) for a weight with integer codes: a BitsTag, and the columns of the smallest unit that shares one weight scale
 * and one activation scale, as a BitsTag.
 */
template <class Visitor>
inline void visit_codes(const WeightView& weight, Visitor&& visitor) {
  if (weight.format == kWeightNvfp4) return visitor(BitsTag<4, true>{}, BitsTag<16>{});
  if (weight.format == kWeightMxfp4) return visitor(BitsTag<4, true>{}, BitsTag<32>{});
  visit_bits(weight.bits, [&](auto codes) {
    if (weight.group == 32) visitor(codes, BitsTag<32>{});
    else visitor(codes, BitsTag<64>{});
  });
}

/** Calls visitor(FormatTag<format>{}) for a format of small floats. */
template <class Visitor>
inline void visit_small_floats(WeightFormat format, Visitor&& visitor) {
  if (format == kWeightMxfp4) return visitor(FormatTag<kWeightMxfp4>{});
  if (format == kWeightMxfp8) return visitor(FormatTag<kWeightMxfp8>{});
  return visitor(FormatTag<kWeightNvfp4>{});
}

/** kWeightNvfp4 or kWeightMxfp4, which their units distinguish. */
template <int Unit>
inline constexpr WeightFormat kE2m1Format = Unit == 16 ? kWeightNvfp4 : kWeightMxfp4;

/** A scale divided by what Simd::elements32 multiplies the elements of the format by: E2M1 numbers come out doubled. */
template <WeightFormat Format>
inline constexpr float kElementUnit = Format == kWeightMxfp8 ? 1.0f : 0.5f;

/**
 * Columns k .. k + 32 of a weight row of small floats, exactly. scale(group): the scale of a group times kElementUnit. `HasFewSums`: the
 * caller leaves registers.
 */
template <class Simd, WeightFormat Format, bool HasFewSums, class Scale>
inline void load_small_floats(const uint8_t* row, uint32_t k, Scale&& scale, typename Simd::Float (&w)[32 / Simd::kLanes]) {
  constexpr uint32_t kGroup = Format == kWeightNvfp4 ? 16 : 32;
  Simd::template elements32<Format == kWeightMxfp8, HasFewSums>(row + size_t{k} * (Format == kWeightMxfp8 ? 8 : 4) / 8, w);
  for (uint32_t v = 0; v < 32 / Simd::kLanes; ++v) w[v] = Simd::multiply(w[v], scale((k + v * Simd::kLanes) / kGroup));
}

}  // namespace
}  // namespace markbase::cpu
