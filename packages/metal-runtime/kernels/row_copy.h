#pragma once
#include <stdint.h>

/** Parameters of copy_rows and copy_bytes, which copy the inputs of a step to the arena, and outputs to where the host reads them. */
struct RowCopyParams {
  uint32_t rows;
  uint32_t width;
  uint32_t from_stride;  ///< elements between two rows
  uint32_t to_stride;
};
static_assert(sizeof(RowCopyParams) == 16, "host and kernel disagree on RowCopyParams");

/** Parameters of check_finite: `count` floats that `command` has written. */
struct FiniteCheckParams {
  uint32_t count;
  uint32_t command;
};
static_assert(sizeof(FiniteCheckParams) == 8, "host and kernel disagree on FiniteCheckParams");
