#pragma once
#include <stdint.h>

/**
 * Parameters of the pool_rows kernel, [T, width] to [N, width]: y[n] is the sum of the `count` rows of x from output_row[n]
 * on, times `scale`. Rows beyond the end of the step count as zero.
 * Bindings: x, y.
 */
struct PoolRowsParams {
  uint32_t width;
  uint32_t count;     ///< rows that become one
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
  float scale;
};
static_assert(sizeof(PoolRowsParams) == 20, "host and kernel disagree on PoolRowsParams");

#define MARKBASE_POOL_ROWS_OPERANDS 2
#define MARKBASE_POOL_ROWS_ROW_SET 1  // kOutputRows
