#pragma once
#include <stdint.h>

/**
 * Parameters of the rms_norm kernels. Every row is `groups` vectors of `width` elements, each normalised separately:
 * n = x * (mean(x^2) + eps)^(-1/2), then n *= gain when present, then y = n, or y = (residual + n) * output_scale when
 * has_residual.
 * Bindings: x, gain [width] (absent: none), residual (absent unless has_residual), y.
 */
struct RmsNormParams {
  uint32_t row_set;          ///< RowSet of all operands
  uint32_t groups;           ///< vectors per row (heads, or 1)
  uint32_t width;            ///< elements per vector
  uint32_t x_stride;         ///< elements between two rows of x; vectors of a row are contiguous
  uint32_t residual_stride;  ///< elements between two rows of the residual
  uint32_t y_stride;         ///< elements between two rows of y
  uint32_t gain_type;        ///< ScalarType of the gain
  uint32_t has_gain;
  uint32_t has_residual;
  float eps;           ///< added to the mean square
  float output_scale;  ///< multiplies the sum with the residual (layer_scalar); 1 = none
};
static_assert(sizeof(RmsNormParams) == 44, "host and kernel disagree on RmsNormParams");

#define MARKBASE_RMS_NORM_OPERANDS 4
