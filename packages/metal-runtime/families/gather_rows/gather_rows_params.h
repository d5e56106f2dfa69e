#pragma once
#include <stdint.h>

/** Parameters of the gather_rows kernel: y[n] = x[output_row[n]], [T, width] to [N, width]. Bindings: x, y. */
struct GatherRowsParams {
  uint32_t width;
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
};
static_assert(sizeof(GatherRowsParams) == 12, "host and kernel disagree on GatherRowsParams");

#define MARKBASE_GATHER_ROWS_OPERANDS 2
#define MARKBASE_GATHER_ROWS_ROW_SET 1  // kOutputRows
