#pragma once

#include <arm_neon.h>

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** Two runs of Bits bytes, in the two halves of a register, become twice 8 codes: element i takes the 2 bytes from bit
 * i * Bits on and shifts them right. */
template <int Bits>
struct NeonByteLayout {
  alignas(16) uint8_t byte[2][16];
  alignas(16) int16_t shift[8];

  constexpr NeonByteLayout() : byte(), shift() {
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 8; ++i) {
        const int first = i * Bits / 8;
        byte[half][2 * i] = static_cast<uint8_t>(half * 8 + first);
        byte[half][2 * i + 1] = static_cast<uint8_t>(half * 8 + (first < 7 ? first + 1 : 7));
      }
    }
    for (int i = 0; i < 8; ++i) shift[i] = static_cast<int16_t>(-(i * Bits % 8));
  }
};

template <int Bits>
inline constexpr NeonByteLayout<Bits> kNeonByteLayout;

/** NEON with dot products (Arm v8.2; every Apple M, Neoverse N1, Cortex-A76 and later). */
struct NeonSimd {
  static constexpr uint32_t kLanes = 4;
  static constexpr uint32_t kFloatAccumulators = 16;
  static constexpr uint32_t kNibbleBlock = 32;
  using Float = float32x4_t;
  using Int = int32x4_t;

  static Float zero() { return vdupq_n_f32(0.0f); }
  static Float set(float value) { return vdupq_n_f32(value); }
  static Float load(const float* source) { return vld1q_f32(source); }
  static void store(float* target, Float value) { vst1q_f32(target, value); }
  static Float add(Float a, Float b) { return vaddq_f32(a, b); }
  static Float multiply(Float a, Float b) { return vmulq_f32(a, b); }
  static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
  static Float to_float(Int v) { return vcvtq_f32_s32(v); }
  static float sum(Float v) { return vaddvq_f32(v); }

  static Float load_scalars(ScalarType type, const uint8_t* source) {
    if (type == kScalarF32) return vreinterpretq_f32_u8(vld1q_u8(source));
    const uint8x8_t raw = vld1_u8(source);
    if (type == kScalarF16) return vcvt_f32_f16(vreinterpret_f16_u8(raw));
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(raw), 16));
  }

  /** As load_scalars for the first `count` values; the other lanes are zero and their memory is not read. */
  static Float load_scalars(ScalarType type, const uint8_t* source, uint32_t count) {
    float lanes[kLanes] = {};
    for (uint32_t l = 0; l < count; ++l) lanes[l] = scalar_to_float(type, source + l * scalar_bytes(type));
    return load(lanes);
  }

  /** Every lane of the first half twice. */
  static Float repeat_lanes(Float v) { return vzip1q_f32(v, v); }

  /** Fetches the line `bytes` beyond an address into the second-level cache. */
  static void prefetch(const uint8_t* source, size_t bytes) { __builtin_prefetch(ahead(source, bytes), 0, 2); }

  /** 16 codes as bytes in their natural order, from exactly 2 * Bits bytes. */
  template <int Bits>
  static uint8x16_t codes16(const uint8_t* source) {
    if constexpr (Bits == 8) {
      return vld1q_u8(source);
    } else {
      const uint64x2_t packed = vcombine_u64(vcreate_u64(read_bytes<Bits>(source)), vcreate_u64(read_bytes<Bits>(source + Bits)));
      const int16x8_t shift = vld1q_s16(kNeonByteLayout<Bits>.shift);
      uint16x8_t half[2];
      for (int i = 0; i < 2; ++i) {
        const uint8x16_t moved = vqtbl1q_u8(vreinterpretq_u8_u64(packed), vld1q_u8(kNeonByteLayout<Bits>.byte[i]));
        half[i] = vshlq_u16(vreinterpretq_u16_u8(moved), shift);
      }
      const uint8x16_t codes = vuzp1q_u8(vreinterpretq_u8_u16(half[0]), vreinterpretq_u8_u16(half[1]));
      return vandq_u8(codes, vdupq_n_u8((1 << Bits) - 1));
    }
  }

  template <int Bits>
  static void codes32(const uint8_t* source, Float (&codes)[8]) {
    for (int part = 0; part < 2; ++part, source += 2 * Bits) {
      const uint8x16_t bytes = codes16<Bits>(source);
      const uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
      const uint16x8_t high = vmovl_high_u8(bytes);
      codes[4 * part] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(low)));
      codes[4 * part + 1] = vcvtq_f32_u32(vmovl_high_u16(low));
      codes[4 * part + 2] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(high)));
      codes[4 * part + 3] = vcvtq_f32_u32(vmovl_high_u16(high));
    }
  }

  template <int Bits>
  struct Dequantizer {
    Float scale;
    Float bias;
    Dequantizer(float s, float b) : scale(set(s)), bias(set(b)) {}
    void decode32(const uint8_t* source, Float (&w)[8]) const {
      codes32<Bits>(source, w);
      for (Float& vector : w) vector = fma(vector, scale, bias);
    }
  };

  /** 4 scales, 2^(byte - 127); 255 is NaN. */
  static Float from_e8m0(const uint8_t* source) {
    const uint32x4_t bytes = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(read_bytes<4>(source)))));
    // 2^-127 is not a normal float.
    const uint32x4_t bits = vmaxq_u32(vshlq_n_u32(bytes, 23), vdupq_n_u32(0x00400000));
    const uint32x4_t is_nan = vceqq_u32(bytes, vdupq_n_u32(255));
    return vreinterpretq_f32_u32(vorrq_u32(bits, vshrq_n_u32(is_nan, 1)));
  }

  /** 8 numbers of E4M3 times 2^-8 as halves. */
  static uint16x8_t e4m3_halves(uint8x8_t bytes) {
    const uint16x8_t wide = vreinterpretq_u16_s16(vmovl_s8(vreinterpret_s8_u8(bytes)));
    const uint16x8_t half = vandq_u16(vshlq_n_u16(wide, 7), vdupq_n_u16(0xbf80));
    const uint16x8_t largest = vdupq_n_u16(0x3f80);
    return vorrq_u16(half, vceqq_u16(vandq_u16(half, largest), largest));
  }
  static Float e4m3_floats(uint16x4_t halves) { return vmulq_n_f32(vcvt_f32_f16(vreinterpret_f16_u16(halves)), kE4m3Unit); }

  /** 4 numbers of E4M3, divided by kE4m3Unit. */
  static constexpr float kE4m3Unit = 256.0f;
  static Float e4m3_parts(const uint8_t* source) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(e4m3_halves(vcreate_u8(read_bytes<4>(source))))));
  }

  /** 32 numbers of E4M3, or E2M1 doubled. */
  template <bool IsE4m3, bool>
  static void elements32(const uint8_t* source, Float (&w)[8]) {
    if constexpr (IsE4m3) {
      for (int part = 0; part < 4; ++part) {
        const uint16x8_t halves = e4m3_halves(vld1_u8(source + 8 * part));
        w[2 * part] = e4m3_floats(vget_low_u16(halves));
        w[2 * part + 1] = e4m3_floats(vget_high_u16(halves));
      }
    } else {
      const uint8x16_t packed = vld1q_u8(source);
      const int8x16_t even = number<true>(vandq_u8(packed, vdupq_n_u8(15))), odd = number<true>(vshrq_n_u8(packed, 4));
      const int8x16_t bytes[2] = {vzip1q_s8(even, odd), vzip2q_s8(even, odd)};
      for (int v = 0; v < 8; v += 2) {
        const int16x8_t whole = v % 4 == 0 ? vmovl_s8(vget_low_s8(bytes[v / 4])) : vmovl_high_s8(bytes[v / 4]);
        w[v] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(whole)));
        w[v + 1] = vcvtq_f32_s32(vmovl_high_s16(whole));
      }
    }
  }

  /** 4-bit codes in bytes: as they are, or their E2M1 numbers, doubled. */
  template <bool IsE2m1>
  static int8x16_t number(uint8x16_t codes) {
    if constexpr (!IsE2m1) return vreinterpretq_s8_u8(codes);
    return vqtbl1q_s8(vld1q_s8(kE2m1Doubled), codes);
  }

  /**
   * One unit of columns as signed codes, 16 per register. 4 bits: a register holds the low or the high nibbles of 16 bytes,
   * so the even or odd columns of 32. 128 is subtracted from 8-bit codes to make them signed. Two units of 16 columns are one step, with
   * sums in half of the lanes each.
   */
  template <int Bits, int Unit, bool IsE2m1 = false>
  struct DotStep {
    static constexpr uint32_t kColumns = Unit < 32 ? 32 : Unit;
    static constexpr uint32_t kUnits = kColumns / Unit;
    static constexpr int kOffset = Bits == 8 ? 128 : 0;
    struct Codes {
      int8x16_t part[kColumns / 16];
    };

    static Codes decode(const uint8_t* source) {
      Codes codes;
      if constexpr (Bits == 4) {
        for (uint32_t i = 0; i < kColumns / 16; i += 2, source += 16) {
          const uint8x16_t packed = vld1q_u8(source);
          codes.part[i] = number<IsE2m1>(vandq_u8(packed, vdupq_n_u8(15)));
          codes.part[i + 1] = number<IsE2m1>(vshrq_n_u8(packed, 4));
        }
      } else {
        for (uint32_t i = 0; i < kColumns / 16; ++i, source += 2 * Bits) {
          uint8x16_t part = codes16<Bits>(source);
          if constexpr (Bits == 8) part = veorq_u8(part, vdupq_n_u8(128));
          codes.part[i] = vreinterpretq_s8_u8(part);
        }
      }
      return codes;
    }

    static Int dot(const Codes& codes, const int8_t* x) {
      Int sums = vdupq_n_s32(0);
      for (uint32_t i = 0; i < kColumns / 16; ++i) sums = vdotq_s32(sums, codes.part[i], vld1q_s8(x + 16 * i));
      return sums;
    }

    static Float spread(const float* product) {
      if constexpr (kUnits == 1) return vdupq_n_f32(*product);
      return vcombine_f32(vdup_n_f32(product[0]), vdup_n_f32(product[1]));
    }
  };
};

}  // namespace
}  // namespace markbase::cpu
