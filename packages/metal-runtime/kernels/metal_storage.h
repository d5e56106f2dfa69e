#pragma once

/** Stored scalars and packed codes as floats. Metal only; the including file has metal_stdlib and scalar_type.h. */

#pragma METAL fp contract(off)

/** The value of a bf16. */
inline float from_bf16(ushort bits) { return as_type<float>(uint(bits) << 16); }

/** Rounds to the nearest bf16, ties to even; NaN stays NaN. */
inline ushort to_bf16(float value) {
  const uint bits = as_type<uint>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return ushort((bits >> 16) | 0x40u);
  return ushort((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/** Element `index` of stored scalars at any even address. */
inline float load_scalar(device const uchar* base, uint type, ulong index) {
  device const ushort* at = (device const ushort*)base;
  if (type == kScalarF32) return as_type<float>(uint(at[2 * index]) | (uint(at[2 * index + 1]) << 16));
  const ushort bits = at[index];
  return type == kScalarBf16 ? from_bf16(bits) : float(as_type<half>(bits));
}

/** E8M0: 2^(byte - 127); 255 is NaN. */
inline float from_e8m0(uchar byte) {
  if (byte == 255) return as_type<float>(0x7fc00000u);
  return as_type<float>(byte == 0 ? 0x00400000u : uint(byte) << 23);
}

/** E4M3 without infinities, times 2^-8: its bits, moved into place, are those of a half. */
inline float scaled_e4m3(uint byte) {
  const uint magnitude = byte & 0x7fu;
  const float value = float(as_type<half>(ushort((byte & 0x80u) << 8 | magnitude << 7)));
  return magnitude == 0x7fu ? as_type<float>(0x7fc00000u) : value;
}

/** E2M1 times 2^-14, in the same way. */
inline float scaled_e2m1(uint code) { return float(as_type<half>(ushort((code & 8u) << 12 | (code & 7u) << 9))); }

/** A scale of small floats: E4M3 in nvfp4, otherwise E8M0. */
inline float load_small_scale(device const uchar* scales, bool is_nvfp4, ulong group) {
  return is_nvfp4 ? scaled_e4m3(scales[group]) * 256.0f : from_e8m0(scales[group]);
}

#if defined(MARKBASE_NVIDIA)
/** A stored scalar before its conversion: loads without branches, so that many can be in flight. */
struct ScalarBits {
  ushort low, high;

  void load(device const uchar* base, uint type, ulong index) {
    device const ushort* at = (device const ushort*)base;
    const bool is_wide = type == kScalarF32;
    low = at[is_wide ? 2 * index : index];
    high = at[is_wide ? 2 * index + 1 : index];
  }
  /** Converts it to the result of load_scalar. */
  float number(uint type) const {
    const float wide = as_type<float>(uint(low) | uint(high) << 16), short_one = from_bf16(low), half_one = float(as_type<half>(low));
    return type == kScalarF32 ? wide : type == kScalarBf16 ? short_one : half_one;
  }
};
#endif

/** `words` 32-bit words, in loads as wide as the alignment of the address allows. */
template <int words>
inline void load_words(device const uchar* at, uint alignment, thread uint* out) {
  if (words % 4 == 0 && alignment >= 16) {
    for (int i = 0; i < words / 4; ++i) {
      const uint4 four = ((device const uint4*)at)[i];
      out[4 * i] = four.x;
      out[4 * i + 1] = four.y;
      out[4 * i + 2] = four.z;
      out[4 * i + 3] = four.w;
    }
  } else if (words % 2 == 0 && alignment >= 8) {
    for (int i = 0; i < words / 2; ++i) {
      const uint2 two = ((device const uint2*)at)[i];
      out[2 * i] = two.x;
      out[2 * i + 1] = two.y;
    }
  } else if (alignment >= 4) {
    for (int i = 0; i < words; ++i) out[i] = ((device const uint*)at)[i];
  } else {
    device const ushort* halves = (device const ushort*)at;
    for (int i = 0; i < words; ++i) out[i] = uint(halves[2 * i]) | (uint(halves[2 * i + 1]) << 16);
  }
}

/** Code `index` of a little-endian stream of codes of `bits` bits. */
template <int bits>
inline uint whole_code_at(thread const uint* words, int index) {
  const int first = index * bits;
  const int shift = first % 32;
  uint code = words[first / 32] >> shift;
  if (shift + bits > 32) code |= words[first / 32 + 1] << ((32 - shift) & 31);
  return code & ((1u << bits) - 1u);
}

/** The same as a float. */
template <int bits>
inline float code_at(thread const uint* words, int index) {
  return float(whole_code_at<bits>(words, index));
}

/** Code `index` of a stream in memory; the stream ends on a byte boundary. */
inline uint stored_code(device const uchar* stream, uint bits, ulong index) {
  const ulong first = index * bits;
  const uint shift = uint(first % 8);
  uint code = stream[first / 8];
  if (shift + bits > 8) code |= uint(stream[first / 8 + 1]) << 8;
  return (code >> shift) & ((1u << bits) - 1u);
}
