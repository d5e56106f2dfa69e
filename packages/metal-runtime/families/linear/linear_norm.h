#pragma once
#include <stdint.h>

/**
 * Parameters of linear_norm: y = (residual + rms_norm(x W^T * scale) * gain) * output_scale for one row, where every `width` outputs are
 * normalised separately.
 */
struct LinearNormParams {
  uint32_t in;
  uint32_t group;       ///< of the weight, when affine
  uint32_t scale_type;  ///< ScalarType, when affine
  uint32_t width;       ///< outputs that are normalised together, at most 1024
  uint32_t gain_type;   ///< ScalarType of the gain
  uint32_t has_gain;
  uint32_t has_residual;
  float scale;  ///< multiplies the products
  float eps;
  float output_scale;
};
static_assert(sizeof(LinearNormParams) == 40, "host and kernel disagree on LinearNormParams");
