#pragma once

#include <cstdint>
#include <cstring>

#include "linear_core.h"

// Everything in this folder except linear_core.h is in an unnamed namespace: each instruction set compiles its own copy
// with its own flags, and no linker may exchange one for another.
namespace markbase::cpu {
namespace {

/** Reads a value from an address that need not be aligned. */
template <class T>
inline T read_unaligned(const void* address) {
  T value;
  memcpy(&value, address, sizeof value);
  return value;
}

inline float bits_to_float(uint32_t bits) { return read_unaligned<float>(&bits); }

inline uint32_t float_to_bits(float value) { return read_unaligned<uint32_t>(&value); }

inline float bf16_to_float(uint16_t value) { return bits_to_float(static_cast<uint32_t>(value) << 16); }

/** IEEE half to single, exact for every value. */
inline float f16_to_float(uint16_t value) {
  const uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  const uint32_t magnitude = value & 0x7fffu;
  if (magnitude >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The half's exponent and fraction moved into place are the value times 2^-112; the product is exact.
  const float scaled = bits_to_float(magnitude << 13) * 0x1p112f;
  return bits_to_float(sign | float_to_bits(scaled));
}

inline uint32_t scalar_bytes(ScalarType type) { return type == kScalarF32 ? 4 : 2; }

inline float scalar_to_float(ScalarType type, const void* address) {
  if (type == kScalarF32) return read_unaligned<float>(address);
  const auto raw = read_unaligned<uint16_t>(address);
  return type == kScalarBf16 ? bf16_to_float(raw) : f16_to_float(raw);
}

/** E8M0: 2^(value - 127); 255 is NaN. Exact. */
inline float e8m0_to_float(uint8_t value) {
  if (value == 255) return bits_to_float(0x7fc00000u);
  return bits_to_float(value == 0 ? 0x00400000u : static_cast<uint32_t>(value) << 23);
}

/** E4M3 without infinities: the bits of a half, moved into place, times 2^8. Exact. */
inline float e4m3_to_float(uint8_t value) {
  if ((value & 0x7f) == 0x7f) return bits_to_float(0x7fc00000u);
  return f16_to_float(static_cast<uint16_t>((value & 0x80) << 8 | (value & 0x7f) << 7)) * 256.0f;
}

/** Numbers of E2M1 times 2, which are whole, by code; those with a sign are the second half. */
inline constexpr int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/** The same plus kE2m1Zero, for instructions that take whole numbers without a sign. */
inline constexpr int kE2m1Zero = 12;
inline constexpr uint8_t kE2m1Shifted[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/** The `Bytes` little-endian bytes at `address` as a number; reads exactly those bytes. */
template <int Bytes>
inline uint64_t read_bytes(const uint8_t* address) {
  if constexpr (Bytes == 2) return read_unaligned<uint16_t>(address);
  if constexpr (Bytes == 3) return read_unaligned<uint16_t>(address) | static_cast<uint64_t>(address[2]) << 16;
  if constexpr (Bytes == 4) return read_unaligned<uint32_t>(address);
  if constexpr (Bytes == 5) return read_unaligned<uint32_t>(address) | static_cast<uint64_t>(address[4]) << 32;
  if constexpr (Bytes == 6) {
    return read_unaligned<uint32_t>(address) | static_cast<uint64_t>(read_unaligned<uint16_t>(address + 4)) << 32;
  }
  if constexpr (Bytes == 8) return read_unaligned<uint64_t>(address);
}

/** An address to prefetch; it may lie beyond the end of the array, where a prefetch does nothing. */
inline const char* ahead(const uint8_t* address, uintptr_t bytes) {
  return reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(address) + bytes);
}

constexpr uint32_t round_up(uint32_t value, uint32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

constexpr uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

}  // namespace
}  // namespace markbase::cpu
