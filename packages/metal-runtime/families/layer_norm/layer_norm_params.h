#pragma once
#include <stdint.h>

/**
 * Parameters of the layer_norm kernel. Every row is `groups` vectors of `width` elements, each normalised separately:
 * y = (x - mean(x)) * (mean((x - mean(x))^2) + eps)^(-1/2) * gain + bias, gain and bias when present.
 * Bindings: x, gain [width] (absent: none), bias [width] (absent: none), y.
 */
struct LayerNormParams {
  uint32_t row_set;   ///< RowSet of x and y
  uint32_t groups;    ///< vectors per row
  uint32_t width;     ///< elements per vector
  uint32_t x_stride;  ///< elements between two rows of x; vectors of a row are contiguous
  uint32_t y_stride;
  uint32_t gain_type;  ///< ScalarType of the gain
  uint32_t bias_type;  ///< ScalarType of the bias
  uint32_t has_gain;
  uint32_t has_bias;
  float eps;  ///< added to the variance
};
static_assert(sizeof(LayerNormParams) == 40, "host and kernel disagree on LayerNormParams");

#define MARKBASE_LAYER_NORM_OPERANDS 4
