#pragma once
#include <stdint.h>

/**
 * Parameters of the adapter_linear kernel: one factor of a low-rank adapter, chosen per row.
 *
 * y = base + M_a x, where a is the number in the row's `selected`, 1 for the first matrix; rows with 0 get the base alone. Without a base,
 * y = M_a x, and zeros for 0.
 *
 * Bindings: x, selected [rows][1], weights [adapters][out_width][in_width] float32, base (absent unless has_base), y.
 */
struct AdapterLinearParams {
  uint32_t row_set;  ///< RowSet of all operands
  uint32_t out_width;
  uint32_t in_width;
  uint32_t adapters;  ///< matrices; larger numbers count as 0
  uint32_t has_base;
  uint32_t x_stride;         ///< elements between two rows of x
  uint32_t selected_stride;  ///< elements between two rows of `selected`
  uint32_t base_stride;      ///< elements between two rows of the base
  uint32_t y_stride;         ///< elements between two rows of y
};
static_assert(sizeof(AdapterLinearParams) == 36, "host and kernel disagree on AdapterLinearParams");

#define MARKBASE_ADAPTER_LINEAR_OPERANDS 5
