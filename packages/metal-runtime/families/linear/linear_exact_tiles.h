#pragma once
#include <stdint.h>

/**
 * Layout of the threadgroup memory of linear_exact_rows, shared by host and kernel. A stage is a chunk of 32 columns of a threadgroup's
 * outputs.
 */

#define MARKBASE_EXACT_COLUMNS 3072
#define MARKBASE_EXACT_ROWS 8
#define MARKBASE_EXACT_OUTPUTS 64
#define MARKBASE_EXACT_STAGES 4

/** Floats from one row to the next: eight rows are read together from different banks. */
constexpr uint32_t kExactPitch = MARKBASE_EXACT_COLUMNS + 4;
constexpr uint32_t kExactStageBytes = MARKBASE_EXACT_OUTPUTS * 32;
/** Scales, or biases, of a group: one per output, plus padding so that adjacent groups begin in different banks. */
constexpr uint32_t kExactScalarBytes = (MARKBASE_EXACT_OUTPUTS + 4) * 2;

/** Rows, stages of eight simdgroups, sums of the chunks of rows, scales and biases. */
constexpr uint32_t exact_shared_bytes(uint32_t in, uint32_t group) {
  return MARKBASE_EXACT_ROWS * kExactPitch * 4 + 8 * MARKBASE_EXACT_STAGES * kExactStageBytes + in / 32 * MARKBASE_EXACT_ROWS * 4 +
         2 * (in / group) * kExactScalarBytes;
}
