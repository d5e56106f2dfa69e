#pragma once
#include <stdint.h>

/**
 * Threadgroup memory of linear_stream, as host and kernel know it. A stage is what a simdgroup multiplies at once: 256 columns of 16 weight
 * rows, their codes of 4 bits, scales and biases.
 */

#define MARKBASE_STREAM_THREADS 512
#define MARKBASE_STREAM_COLUMNS 256
#define MARKBASE_STREAM_STAGES 4

/** Of the codes, and of one kind of scalars, four to a row. */
constexpr uint32_t kStreamCodeBytes = 16 * MARKBASE_STREAM_COLUMNS / 2;
constexpr uint32_t kStreamScalarBytes = 16 * 4 * 2;
constexpr uint32_t kStreamStageBytes = kStreamCodeBytes + 2 * kStreamScalarBytes;

/** Tiles of 16 weight rows that the simdgroups share at a time, and the floats that one leaves of a tile. `rows`: 1, 4, 8 or 16. */
constexpr uint32_t stream_tiles(uint32_t rows) { return rows <= 4 ? 8 : 4; }
constexpr uint32_t stream_share_floats(uint32_t rows) { return rows <= 4 ? 64 : 16 * rows; }

/** A row as packed_bytes.h has it. `in`: columns. */
constexpr uint32_t packed_bytes(uint32_t planes, uint32_t in) { return in * planes + in / 64 * 8; }

/** The stages of all simdgroups, and what these leave. */
constexpr uint32_t stream_shared_bytes(uint32_t rows) {
  return MARKBASE_STREAM_THREADS / 32 * (MARKBASE_STREAM_STAGES * kStreamStageBytes + stream_tiles(rows) * stream_share_floats(rows) * 4);
}

/** What kernels declare beside it, at most. */
constexpr uint32_t kStreamDeclaredBytes = 16 * 512 + 256;
