#pragma once
#include <stdint.h>

/**
 * Parameters of the rope_table kernel: for pair i < pairs, angle = position * theta^(-2i/head_width) for
 * i < rotary_pairs, else 0, evaluated in float32 as float(position) * float(inverse frequency);
 * y[r] = [cos_0 .. cos_{pairs-1}, sin_0 .. sin_{pairs-1}]. Bindings: inverse frequencies [pairs] float32, y.
 */
struct RopeTableParams {
  uint32_t row_set;  ///< RowSet of the positions
  uint32_t pairs;    ///< head_width / 2
};
static_assert(sizeof(RopeTableParams) == 8, "host and kernel disagree on RopeTableParams");

#define MARKBASE_ROPE_TABLE_OPERANDS 2
