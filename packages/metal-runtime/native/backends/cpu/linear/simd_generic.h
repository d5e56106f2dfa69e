#pragma once

#include "scalar_convert.h"

namespace markbase::cpu {
namespace {

/** Plain C++ arrays of eight lanes; any compiler turns the loops into whatever the baseline of the target offers. */
struct GenericSimd {
  static constexpr uint32_t kLanes = 8;
  static constexpr uint32_t kFloatAccumulators = 8;
  static constexpr uint32_t kNibbleBlock = 32;

  struct Float {
    float lane[kLanes];
  };
  struct Int {
    int32_t lane[kLanes];
  };

  static Float zero() { return {}; }
  static Float set(float value) {
    Float result;
    for (float& lane : result.lane) lane = value;
    return result;
  }
  static Float load(const float* source) {
    Float result;
    memcpy(&result, source, sizeof result);
    return result;
  }
  static void store(float* target, Float value) { memcpy(target, &value, sizeof value); }
  static Float add(Float a, Float b) {
    for (uint32_t l = 0; l < kLanes; ++l) a.lane[l] += b.lane[l];
    return a;
  }
  static Float multiply(Float a, Float b) {
    for (uint32_t l = 0; l < kLanes; ++l) a.lane[l] *= b.lane[l];
    return a;
  }
  /** Two roundings: a fused operation without hardware for it is a slow library call. */
  static Float fma(Float a, Float b, Float c) { return add(multiply(a, b), c); }
  static float sum(Float v) {
    const float* l = v.lane;
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
  }
  static Float to_float(Int v) {
    Float result;
    for (uint32_t l = 0; l < kLanes; ++l) result.lane[l] = static_cast<float>(v.lane[l]);
    return result;
  }
  static Float load_scalars(ScalarType type, const uint8_t* source) {
    Float result;
    for (uint32_t l = 0; l < kLanes; ++l) result.lane[l] = scalar_to_float(type, source + l * scalar_bytes(type));
    return result;
  }
  /** As load_scalars for the first `count` values; the other lanes are zero and their memory is not read. */
  static Float load_scalars(ScalarType type, const uint8_t* source, uint32_t count) {
    float lanes[kLanes] = {};
    for (uint32_t l = 0; l < count; ++l) lanes[l] = scalar_to_float(type, source + l * scalar_bytes(type));
    return load(lanes);
  }
  /** Every lane of the first half twice. */
  static Float repeat_lanes(Float v) {
    for (uint32_t l = kLanes; l-- > 0;) v.lane[l] = v.lane[l / 2];
    return v;
  }
  static void prefetch(const uint8_t*, size_t) {}

  template <int Bits>
  static void codes32(const uint8_t* source, Float (&codes)[4]) {
    for (Float& vector : codes) {
      const uint64_t packed = read_bytes<Bits>(source);
      for (uint32_t l = 0; l < kLanes; ++l) {
        vector.lane[l] = static_cast<float>(static_cast<uint32_t>(packed >> (l * Bits)) & ((1u << Bits) - 1));
      }
      source += Bits;
    }
  }

  template <int Bits>
  struct Dequantizer {
    Float scale;
    Float bias;
    Dequantizer(float s, float b) : scale(set(s)), bias(set(b)) {}
    void decode32(const uint8_t* source, Float (&w)[4]) const {
      codes32<Bits>(source, w);
      for (Float& vector : w) vector = fma(vector, scale, bias);
    }
  };

  /** kLanes scales, 2^(byte - 127); 255 is NaN. */
  static Float from_e8m0(const uint8_t* source) {
    Float result;
    for (uint32_t l = 0; l < kLanes; ++l) result.lane[l] = e8m0_to_float(source[l]);
    return result;
  }
  /** kLanes numbers of E4M3. */
  static constexpr float kE4m3Unit = 1.0f;
  static Float e4m3_parts(const uint8_t* source) {
    Float result;
    for (uint32_t l = 0; l < kLanes; ++l) result.lane[l] = e4m3_to_float(source[l]);
    return result;
  }
  /** 32 numbers of E4M3, or E2M1 doubled. */
  template <bool IsE4m3, bool>
  static void elements32(const uint8_t* source, Float (&w)[4]) {
    for (Float& vector : w) {
      if constexpr (IsE4m3) {
        vector = e4m3_parts(source);
      } else {
        for (uint32_t l = 0; l < kLanes; ++l) vector.lane[l] = static_cast<float>(kE2m1Doubled[source[l / 2] >> (l % 2 * 4) & 15]);
      }
      source += IsE4m3 ? 8 : 4;
    }
  }

  /** A unit of 16 columns is half of a step: its sums are in half of the lanes. */
  template <int Bits, int Unit, bool IsE2m1 = false>
  struct DotStep {
    static constexpr uint32_t kColumns = Unit < 32 ? 32 : Unit;
    static constexpr uint32_t kUnits = kColumns / Unit;
    static constexpr int kOffset = 0;
    struct Codes {
      int16_t code[kColumns];
    };

    static Codes decode(const uint8_t* source) {
      Codes result;
      for (uint32_t k = 0; k < kColumns; k += 8, source += Bits) {
        const uint64_t packed = read_bytes<Bits>(source);
        for (uint32_t i = 0; i < 8; ++i) {
          const auto code = static_cast<int16_t>(packed >> (i * Bits) & ((1u << Bits) - 1));
          result.code[k + i] = IsE2m1 ? kE2m1Doubled[code & 15] : code;
        }
      }
      return result;
    }
    static Int dot(const Codes& codes, const int8_t* x) {
      Int result = {};
      for (uint32_t k = 0; k < kColumns; k += kLanes) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          const uint32_t column = k + l;
          const uint32_t in_block = column % kNibbleBlock;
          const uint32_t place = Bits == 4 ? column - in_block + in_block % 2 * (kNibbleBlock / 2) + in_block / 2 : column;
          result.lane[kUnits == 1 ? l : column / 16 * 4 + l % 4] += codes.code[column] * x[place];
        }
      }
      return result;
    }
    static Float spread(const float* product) {
      Float result;
      for (uint32_t l = 0; l < kLanes; ++l) result.lane[l] = product[l * kUnits / kLanes];
      return result;
    }
  };
};

}  // namespace
}  // namespace markbase::cpu
