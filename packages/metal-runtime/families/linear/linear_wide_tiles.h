#pragma once
#include <stdint.h>

/**
 * Tiles of linear_wide, linear_warpgroup and moe_warpgroup, shared by host and kernel. A stage is what is multiplied at a time, 64 columns:
 * rows as bf16, weights as stored and, for codes, four bytes for the scale and for the bias of every output.
 */

#define MARKBASE_WIDE_THREADS 128
#define MARKBASE_WARPGROUP_THREADS 256
#define MARKBASE_WIDE_COLUMNS 64

/**
 * Number of stages in threadgroup memory: two threadgroups of linear_wide fit on a multiprocessor of compute capability 8.0 and 9.0.
 * `bits`: per element of the weight.
 */
constexpr uint32_t wide_stages(uint32_t threads, uint32_t rows, uint32_t bits) {
  return threads == MARKBASE_WIDE_THREADS && rows == 128 && bits == 8 ? 3 : 4;
}

/** Tiles of linear_warpgroup and moe_warpgroup that a multiprocessor runs concurrently, limited by registers. */
constexpr uint32_t warpgroup_tiles(uint32_t rows, uint32_t bits) { return rows <= 128 && bits <= 8 ? 2 : 1; }

/** Columns of the rows, padded to whole stages. */
constexpr uint32_t wide_columns(uint32_t in) { return (in + MARKBASE_WIDE_COLUMNS - 1) / MARKBASE_WIDE_COLUMNS * MARKBASE_WIDE_COLUMNS; }

constexpr uint32_t wide_row_bytes(uint32_t rows) { return rows * MARKBASE_WIDE_COLUMNS * 2; }
constexpr uint32_t wide_code_bytes(uint32_t outputs, uint32_t bits) { return outputs * MARKBASE_WIDE_COLUMNS / 8 * bits; }
constexpr uint32_t wide_stage_bytes(uint32_t rows, uint32_t outputs, uint32_t bits) {
  return wide_row_bytes(rows) + wide_code_bytes(outputs, bits) + (bits <= 8 ? 8 * outputs : 0);
}

/** Floats between two rows of the products, which overwrite the stages: the stores of a simdgroup go to different banks. */
constexpr uint32_t wide_product_stride(uint32_t threads, uint32_t outputs) { return outputs + (threads == MARKBASE_WIDE_THREADS ? 8 : 4); }

constexpr uint32_t wide_shared_bytes(uint32_t threads, uint32_t rows, uint32_t outputs, uint32_t bits) {
  const uint32_t stages = wide_stages(threads, rows, bits) * wide_stage_bytes(rows, outputs, bits);
  const uint32_t products = rows * wide_product_stride(threads, outputs) * 4;
  return stages > products ? stages : products;
}

/** Columns of a chunk of weights of linear_batch, and chunks in threadgroup memory. */
#define MARKBASE_BATCH_COLUMNS 256
#define MARKBASE_BATCH_CHUNKS 3

/** Stages of rows of linear_batch in threadgroup memory. */
constexpr uint32_t batch_row_stages(uint32_t) { return 6; }

/** Bytes of a chunk of linear_batch: codes, then eight bytes of scales and of biases for every output. */
constexpr uint32_t batch_chunk_bytes(uint32_t outputs) { return outputs * (MARKBASE_BATCH_COLUMNS / 2 + 16); }

constexpr uint32_t batch_shared_bytes(uint32_t threads, uint32_t rows, uint32_t outputs) {
  const uint32_t stages = batch_row_stages(rows) * wide_row_bytes(rows) + MARKBASE_BATCH_CHUNKS * batch_chunk_bytes(outputs);
  const uint32_t products = rows * wide_product_stride(threads, outputs) * 4;
  return stages > products ? stages : products;
}
