#pragma once
#include <stdint.h>

/**
 * Parameters of the rope kernel: rotates pairs (i, i + width/2) of every head by the row's angles:
 * y_i = x_i cos_i - x_{i+width/2} sin_i, y_{i+width/2} = x_{i+width/2} cos_i + x_i sin_i.
 * Bindings: x, table [rows, width] (cos then sin, from rope_table), y.
 */
struct RopeParams {
  uint32_t row_set;
  uint32_t heads;     ///< heads a row
  uint32_t width;     ///< elements a head
  uint32_t x_stride;  ///< elements between two rows of x
  uint32_t y_stride;
};
static_assert(sizeof(RopeParams) == 20, "host and kernel disagree on RopeParams");
