#pragma once

#include <cstddef>
#include <cstdint>

#include "scalar_type.h"

namespace markbase::cpu {

/**
 * A weight matrix [out, in] exactly as stored in the mapped checkpoint file: nothing is repacked or copied.
 * Affine: `weight` holds one little-endian bit stream per row (element j in bits j*bits .. j*bits+bits-1, row length
 * a multiple of 4 bytes); `scales` and `biases` are [out, in/group]. Pointers are aligned to 2 bytes at least.
 * mxfp4, mxfp8, nvfp4: the same stream of elements; `scales` are bytes, aligned to 1; there are no biases.
 */
struct WeightView {
  WeightFormat format;
  uint32_t bits;          ///< 2, 3, 4, 5, 6 or 8 when quantised
  uint32_t group;         ///< 16 (nvfp4), 32, 64 or 128 when quantised
  ScalarType scale_type;  ///< type of scales and biases when affine
  uint32_t out;           ///< rows
  uint32_t in;            ///< columns; a multiple of `group` when quantised, and of 32
  const void* weight;
  const void* scales;
  const void* biases;
};

/** Forms of an activation row that `multiply` takes. The values are opaque outside the core. */
enum class RowForm : uint32_t {
  kFloat32,     ///< the row as it is: `high`, and few rows with weights that are plain
  kInt8,        ///< 8-bit codes in natural order, with scales and sums per group of columns: `fast`, for few rows
  kInt8Nibble,  ///< the same, permuted to match 4-bit unpacking
  kInt8Tile,    ///< as kInt8, for many rows: different kernels, whose sums run in another order
  kInt8NibbleTile,
  kInt8NibbleFine,  ///< as kInt8Nibble, with scales and sums per 16 columns: nvfp4
  kInt8NibbleFineTile,
  kBfloat16,      ///< rounded to bfloat16, for few rows and mxfp8: `fast`, where the processor has such products
  kBfloat16Tile,  ///< rounded to bfloat16, for many rows and weights that are plain or mxfp8: `fast`
};

/** Matrix products of one instruction set. All functions are pure and may run on any thread. */
struct LinearCore {
  const char* isa;

  /**
   * The form in which `multiply` wants activation rows for this weight. `high` is always kFloat32; `has_few_rows` chooses
   * the kernels of `fast`.
   */
  RowForm (*row_form)(const WeightView& weight, bool is_fast, bool has_few_rows);

  /** Bytes of one prepared row of `in` columns; a multiple of 64. */
  size_t (*prepared_row_bytes)(RowForm form, uint32_t in);

  /** Prepares one row of float32 activations; `prepared` is 64-byte aligned. */
  void (*prepare_row)(RowForm form, uint32_t in, const float* x, void* prepared);

  /** Bytes of thread-private scratch that `multiply` may use for this weight and number of rows. */
  size_t (*scratch_bytes)(const WeightView& weight, RowForm form, uint32_t rows);

  /**
   * y[r][n - out_begin] = sum_k x[r][k] * w[n][k] for r in [0, rows), n in [out_begin, out_end).
   * `prepared`: rows * prepared_row_bytes. `y_stride`: floats between two rows of y.
   * The order of every sum depends on the weight's shape and the form alone: a row gives the same bits for any number of
   * rows and any split of [out_begin, out_end).
   */
  void (*multiply)(const WeightView& weight,
                   RowForm form,
                   const void* prepared,
                   uint32_t rows,
                   uint32_t out_begin,
                   uint32_t out_end,
                   float* y,
                   size_t y_stride,
                   void* scratch);

  /** out[0..in) = row `row` of the weight as float32 (embedding lookup). */
  void (*dequantize_row)(const WeightView& weight, uint32_t row, float* out);
};

/** Instruction sets, best last within an architecture. */
enum class Isa { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kNeonDotprod, kNeonI8mm };

/** Name as shown to users: "generic", "avx2", "avx512", "avx512-bf16", "neon-dotprod", "neon-i8mm". */
const char* isa_name(Isa isa);

/** The best instruction set of this processor for which this build has code. */
Isa detect_isa();

/** True when this processor can run `isa` and this build has code for it. */
bool isa_supported(Isa isa);

/** The core of an instruction set; call only when isa_supported(isa). */
const LinearCore& linear_core(Isa isa);

}  // namespace markbase::cpu
