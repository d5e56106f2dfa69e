#pragma once
#include <stdint.h>

/**
 * Tiles of linear_wide, linear_warpgroup and moe_warpgroup, as host and kernel know them. A stage is what is multiplied at once, of 64
 * columns: rows as bf16, codes as they are stored, and of codes four bytes for the scale and for the bias of every output.
 */

#define MARKBASE_WIDE_THREADS 128
#define MARKBASE_WARPGROUP_THREADS 256
#define MARKBASE_WIDE_COLUMNS 64

/**
 * Stages in threadgroup memory: two threadgroups of linear_wide fit into a multiprocessor of 8.0 and 9.0. `bits`: of an element of the
 * weight.
 */
constexpr uint32_t wide_stages(uint32_t threads, uint32_t rows, uint32_t bits) {
  return threads == MARKBASE_WIDE_THREADS && rows == 128 && bits == 8 ? 3 : 4;
}

/** Tiles of linear_warpgroup and moe_warpgroup that a multiprocessor has side by side: as many as there are registers for. */
constexpr uint32_t warpgroup_tiles(uint32_t rows, uint32_t bits) { return rows <= 128 && bits <= 8 ? 2 : 1; }

/** Columns of the rows: whole stages. */
constexpr uint32_t wide_columns(uint32_t in) { return (in + MARKBASE_WIDE_COLUMNS - 1) / MARKBASE_WIDE_COLUMNS * MARKBASE_WIDE_COLUMNS; }

constexpr uint32_t wide_row_bytes(uint32_t rows) { return rows * MARKBASE_WIDE_COLUMNS * 2; }
constexpr uint32_t wide_code_bytes(uint32_t outputs, uint32_t bits) { return outputs * MARKBASE_WIDE_COLUMNS / 8 * bits; }
constexpr uint32_t wide_stage_bytes(uint32_t rows, uint32_t outputs, uint32_t bits) {
  return wide_row_bytes(rows) + wide_code_bytes(outputs, bits) + (bits <= 8 ? 8 * outputs : 0);
}

/** Floats between two rows of the products, which take the place of the stages: the stores of a simdgroup meet different banks. */
constexpr uint32_t wide_product_stride(uint32_t threads, uint32_t outputs) { return outputs + (threads == MARKBASE_WIDE_THREADS ? 8 : 4); }

constexpr uint32_t wide_shared_bytes(uint32_t threads, uint32_t rows, uint32_t outputs, uint32_t bits) {
  const uint32_t stages = wide_stages(threads, rows, bits) * wide_stage_bytes(rows, outputs, bits);
  const uint32_t products = rows * wide_product_stride(threads, outputs) * 4;
  return stages > products ? stages : products;
}
