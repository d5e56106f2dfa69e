#pragma once

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
};
