#pragma once
#include <stdint.h>

/**
 * Parameters of the causal_conv kernel: y[r][c] = sum_j kernel[j][c] * x[r - taps + 1 + j][c], j ascending, over the rows of
 * the same slot; rows before position 0 count as zeros. The rows of a slot are contiguous.
 * Bindings: x, kernel [taps][width] float32, y.
 */
struct CausalConvParams {
  uint32_t taps;
  uint32_t width;     ///< channels
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
};
static_assert(sizeof(CausalConvParams) == 16, "host and kernel disagree on CausalConvParams");

#define MARKBASE_CAUSAL_CONV_OPERANDS 3
#define MARKBASE_CAUSAL_CONV_ROW_SET 0  // kAllRows
