#pragma once
#include <stdint.h>

/** Element types that a kernel can be asked to read or write; the numbers are shared with every backend. */
enum ScalarType {
  kScalarF32 = 0,
  kScalarBf16 = 1,
  kScalarF16 = 2,
};

/** How a weight matrix is stored. */
enum WeightFormat {
  kWeightF32 = 0,
  kWeightBf16 = 1,
  kWeightF16 = 2,
  kWeightAffine = 3,  ///< w = code * scale + bias, one scale and bias per row and group of columns
  kWeightMxfp4 = 4,   ///< w = element * scale: E2M1, groups of 32, scales E8M0
  kWeightMxfp8 = 5,   ///< E4M3, groups of 32, scales E8M0
  kWeightNvfp4 = 6,   ///< E2M1, groups of 16, scales E4M3
};

/** True for formats with codes and scales; the others are plain numbers. */
inline bool is_quantized(uint32_t format) { return format >= kWeightAffine; }
