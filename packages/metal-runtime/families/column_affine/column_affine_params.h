#pragma once
#include <stdint.h>

/**
 * Parameters of the column_affine kernel: y = (x + factor * shift) * gain, [rows, width], with an optional shift and an optional gain per
 * column: the bias of a linear, or standardisation. Bindings: x, shift [width] (absent: none), gain [width] (absent: none), y.
 */
struct ColumnAffineParams {
  uint32_t row_set;  ///< RowSet of x and y
  uint32_t width;
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
  uint32_t shift_type;  ///< ScalarType of the shift
  uint32_t gain_type;   ///< ScalarType of the gain
  uint32_t has_shift;
  uint32_t has_gain;
  float factor;  ///< of the shift: 1 or -1
};
static_assert(sizeof(ColumnAffineParams) == 36, "host and kernel disagree on ColumnAffineParams");

#define MARKBASE_COLUMN_AFFINE_OPERANDS 4
