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
