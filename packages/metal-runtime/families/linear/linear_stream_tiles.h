#pragma once
#include <stdint.h>

/**
 * Layout of the threadgroup memory of linear_stream, shared by host and kernel. A stage is what a simdgroup multiplies at a time: the 4-bit
 * codes, scales and biases of 256 columns of 16 weight rows.
 */

#define MARKBASE_STREAM_THREADS 512
#define MARKBASE_STREAM_COLUMNS 256
#define MARKBASE_STREAM_STAGES 4

/** Of the codes, and of one kind of scalars, four to a row. */
constexpr uint32_t kStreamCodeBytes = 16 * MARKBASE_STREAM_COLUMNS / 2;
constexpr uint32_t kStreamScalarBytes = 16 * 4 * 2;
constexpr uint32_t kStreamStageBytes = kStreamCodeBytes + 2 * kStreamScalarBytes;

/** Tiles of 16 weight rows that the simdgroups share at a time, and the floats that a simdgroup stores per tile. `rows`: 1, 4, 8 or 16. */
constexpr uint32_t stream_tiles(uint32_t rows) { return rows <= 4 ? 8 : 4; }
constexpr uint32_t stream_share_floats(uint32_t rows) { return rows <= 4 ? 64 : 16 * rows; }

/** A row in the layout of packed_bytes.h. `in`: columns. */
constexpr uint32_t packed_bytes(uint32_t planes, uint32_t in) { return in * planes + in / 64 * 8; }

/** The stages of all simdgroups, and their partial sums. */
constexpr uint32_t stream_shared_bytes(uint32_t rows) {
  return MARKBASE_STREAM_THREADS / 32 * (MARKBASE_STREAM_STAGES * kStreamStageBytes + stream_tiles(rows) * stream_share_floats(rows) * 4);
}

/** Maximum that kernels declare in addition. */
constexpr uint32_t kStreamDeclaredBytes = 16 * 512 + 256;
