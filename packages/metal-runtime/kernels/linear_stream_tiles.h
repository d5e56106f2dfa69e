#pragma once
#include <stdint.h>

/**
 * Stages of linear_stream in threadgroup memory, as host and kernel know them. A stage is what a simdgroup multiplies at once: 256 columns
 * of 16 weight rows, their codes of 4 bits, scales and biases; and of several rows, what these have in the columns.
 */

#define MARKBASE_STREAM_COLUMNS 256

/** Of the codes; of one kind of scalars, of every row 4; of a row of bf16; of the sums of 64 columns of eight rows. */
constexpr uint32_t kStreamCodeBytes = 16 * MARKBASE_STREAM_COLUMNS / 2;
constexpr uint32_t kStreamScalarBytes = 16 * 4 * 2;
constexpr uint32_t kStreamRowBytes = MARKBASE_STREAM_COLUMNS * 2;
constexpr uint32_t kStreamTotalBytes = 4 * 8 * 4;

/** Stages of a simdgroup: a multiprocessor of 9.0 has room for two threadgroups with one or four rows. `rows`: 1, 4 or 8. */
constexpr uint32_t stream_stages(uint32_t rows) { return rows == 1 ? 4 : 3; }

constexpr uint32_t stream_stage_bytes(uint32_t rows) {
  return kStreamCodeBytes + 2 * kStreamScalarBytes + (rows == 1 ? 0 : rows * kStreamRowBytes + kStreamTotalBytes);
}

/** Tiles of 16 weight rows that the simdgroups share at a time, and the bytes of what they make of them. */
constexpr uint32_t stream_tiles(uint32_t rows) { return rows == 1 ? 8 : 4; }
constexpr uint32_t stream_share_bytes(uint32_t rows) { return 8 * stream_tiles(rows) * 16 * (rows == 1 ? 2 : rows) * 4; }

/** Threadgroup memory beside those: the stages of eight simdgroups, behind the row where there is one. `in`: columns. */
constexpr uint32_t stream_shared_bytes(uint32_t rows, uint32_t in) {
  return 8 * stream_stages(rows) * stream_stage_bytes(rows) + (rows == 1 ? in * 2 + in / 64 * 4 : 0);
}
