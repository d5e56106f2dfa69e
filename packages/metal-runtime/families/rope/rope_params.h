#pragma once
#include <stdint.h>

/**
 * Parameters of the rope kernel: rotates pairs (i, i + width/2) of every head by the row's angles:
 * y_i = x_i cos_i - x_{i+width/2} sin_i, y_{i+width/2} = x_{i+width/2} cos_i + x_i sin_i.
 * With several axes, a head is cut into that many equal parts, each rotated like a head by its own part of the table.
 * Bindings: x, table [rows, width] (cos then sin, from rope_table), y.
 */
struct RopeParams {
  uint32_t row_set;
  uint32_t heads;     ///< heads per row
  uint32_t width;     ///< elements per head
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
  uint32_t axes;  ///< 1, or number of parts of a head that are rotated by separate coordinates
};
static_assert(sizeof(RopeParams) == 24, "host and kernel disagree on RopeParams");

#define MARKBASE_ROPE_OPERANDS 3
