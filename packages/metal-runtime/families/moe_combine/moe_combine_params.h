#pragma once
#include <stdint.h>

/**
 * Parameters of the moe_combine kernels: y = sum of share_x * x_x over the chosen experts, in the order of their shares.
 * Bindings: x [rows, top_k * width], shares [rows, top_k], y [rows, width].
 */
struct MoeCombineParams {
  uint32_t row_set;        ///< RowSet of all operands
  uint32_t top_k;          ///< slices of x per row
  uint32_t width;          ///< elements of a slice and of y
  uint32_t x_stride;       ///< elements between two rows of x; slices of a row are contiguous
  uint32_t shares_stride;  ///< elements between two rows of shares
  uint32_t y_stride;       ///< elements between two rows of y
};
static_assert(sizeof(MoeCombineParams) == 24, "host and kernel disagree on MoeCombineParams");

#define MARKBASE_MOE_COMBINE_OPERANDS 3
