#pragma once
#include <stdint.h>

/**
 * Tiles of linear_wide, as host and kernel know them. A stage is what is multiplied at once, of 64 columns: rows as bf16, codes as
 * they are stored, and of codes four bytes for the scale and for the bias of every output.
 */

#define MARKBASE_WIDE_THREADS 128
#define MARKBASE_WIDE_COLUMNS 64

/** Stages in threadgroup memory; two threadgroups of any kind fit into a multiprocessor of 8.0 and 9.0. `bits`: of an element of the weight. */
constexpr uint32_t wide_stages(uint32_t rows, uint32_t bits) { return rows == 128 && bits == 8 ? 3 : 4; }

/** Columns of the rows: whole stages. */
constexpr uint32_t wide_columns(uint32_t in) { return (in + MARKBASE_WIDE_COLUMNS - 1) / MARKBASE_WIDE_COLUMNS * MARKBASE_WIDE_COLUMNS; }

constexpr uint32_t wide_row_bytes(uint32_t rows) { return rows * MARKBASE_WIDE_COLUMNS * 2; }
constexpr uint32_t wide_code_bytes(uint32_t outputs, uint32_t bits) { return outputs * MARKBASE_WIDE_COLUMNS / 8 * bits; }
constexpr uint32_t wide_stage_bytes(uint32_t rows, uint32_t outputs, uint32_t bits) {
  return wide_row_bytes(rows) + wide_code_bytes(outputs, bits) + (bits <= 8 ? 8 * outputs : 0);
}

/** Floats between two rows of the products, which take the place of the stages: neighbouring rows begin in different banks. */
constexpr uint32_t wide_product_stride(uint32_t outputs) { return outputs + 8; }

constexpr uint32_t wide_shared_bytes(uint32_t rows, uint32_t outputs, uint32_t bits) {
  return wide_stages(rows, bits) * wide_stage_bytes(rows, outputs, bits) > rows * wide_product_stride(outputs) * 4
             ? wide_stages(rows, bits) * wide_stage_bytes(rows, outputs, bits)
             : rows * wide_product_stride(outputs) * 4;
}
