#pragma once

#include "dequantize.h"
#include "float_product.h"
#include "int8_product.h"

namespace markbase::cpu {
namespace {

/** For instruction sets that use the product for few rows also for many rows. */
struct NoBatch {
  static constexpr bool kExists = false;
  static void run_few(const WeightView&, const void*, uint32_t, uint32_t, uint32_t, float*, size_t) {}
  static size_t scratch_bytes(const WeightView&, uint32_t) { return 0; }
  static size_t prepared_row_bytes(uint32_t) { return 0; }
  static void prepare_row(uint32_t, const float*, void*) {}
  static void run(const WeightView&, const void*, uint32_t, uint32_t, uint32_t, float*, size_t, void*) {}
};

/**
 * The functions of a LinearCore for one instruction set. `Batch` multiplies many 8-bit rows, where it exists: it has
 * kExists, scratch_bytes(weight, rows) and run(weight, prepared, rows, begin, end, y, y_stride, scratch). `PlainBatch`
 * multiplies many rows with weights that are plain or mxfp8; it also has prepared_row_bytes,
 * prepare_row and run_few, which multiplies few rows with mxfp8.
 */
template <class Simd, class Batch, class PlainBatch = NoBatch>
struct Core {
  static RowForm row_form(const WeightView& weight, bool is_fast, bool has_few_rows) {
    if (!is_fast) return RowForm::kFloat32;
    if (!has_integer_codes(weight)) {
      if (!PlainBatch::kExists) return RowForm::kFloat32;
      if (!has_few_rows) return RowForm::kBfloat16Tile;
      return weight.format == kWeightMxfp8 ? RowForm::kBfloat16 : RowForm::kFloat32;
    }
    const bool is_tile = !has_few_rows && Batch::kExists;
    if (weight.format == kWeightNvfp4) return is_tile ? RowForm::kInt8NibbleFineTile : RowForm::kInt8NibbleFine;
    if (weight.bits == 4) return is_tile ? RowForm::kInt8NibbleTile : RowForm::kInt8Nibble;
    return is_tile ? RowForm::kInt8Tile : RowForm::kInt8;
  }

  static bool is_bfloat16(RowForm form) { return form == RowForm::kBfloat16 || form == RowForm::kBfloat16Tile; }

  static bool is_fine(RowForm form) { return form == RowForm::kInt8NibbleFine || form == RowForm::kInt8NibbleFineTile; }

  static bool is_tile(RowForm form) {
    return form == RowForm::kInt8Tile || form == RowForm::kInt8NibbleTile || form == RowForm::kInt8NibbleFineTile;
  }

  static size_t prepared_row_bytes(RowForm form, uint32_t in) {
    if (is_bfloat16(form)) return PlainBatch::prepared_row_bytes(in);
    return form == RowForm::kFloat32 ? sizeof(float) * round_up(in, 16) : int8_row_bytes(in, is_fine(form));
  }

  static void prepare_row(RowForm form, uint32_t in, const float* x, void* prepared) {
    if (is_bfloat16(form)) return PlainBatch::prepare_row(in, x, prepared);
    if (form == RowForm::kInt8 || form == RowForm::kInt8Tile) return prepare_int8_row<0>(in, x, prepared, false);
    if (form != RowForm::kFloat32) return prepare_int8_row<Simd::kNibbleBlock>(in, x, prepared, is_fine(form));
    auto* target = static_cast<float*>(prepared);
    memcpy(target, x, in * sizeof(float));
    memset(target + in, 0, (round_up(in, 16) - in) * sizeof(float));
  }

  static size_t scratch_bytes(const WeightView& weight, RowForm form, uint32_t rows) {
    if (form == RowForm::kBfloat16Tile) return PlainBatch::scratch_bytes(weight, rows) + 64;
    if (form == RowForm::kFloat32) return sizeof(float) * FloatProduct<Simd>::scratch_floats(weight) + 64;
    return (is_tile(form) ? Batch::scratch_bytes(weight, rows) : 0) + 64;
  }

  static void multiply(const WeightView& weight,
                       RowForm form,
                       const void* prepared,
                       uint32_t rows,
                       uint32_t begin,
                       uint32_t end,
                       float* y,
                       size_t y_stride,
                       void* scratch) {
    if (rows == 0 || begin >= end) return;
    auto* floats = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch) + 63) & ~uintptr_t{63});
    if (form == RowForm::kBfloat16) {
      PlainBatch::run_few(weight, prepared, rows, begin, end, y, y_stride);
    } else if (form == RowForm::kBfloat16Tile) {
      PlainBatch::run(weight, prepared, rows, begin, end, y, y_stride, floats);
    } else if (form == RowForm::kFloat32) {
      FloatProduct<Simd>::run(weight, static_cast<const float*>(prepared), round_up(weight.in, 16), rows, begin, end, y, y_stride, floats);
    } else if (is_tile(form)) {
      Batch::run(weight, prepared, rows, begin, end, y, y_stride, floats);
    } else {
      Int8Product<Simd>::run(weight, prepared, rows, begin, end, y, y_stride);
    }
  }

  static void dequantize_row(const WeightView& weight, uint32_t row, float* out) { dequantize_weight_row<Simd>(weight, row, out); }

  static constexpr LinearCore table(const char* isa) {
    return {isa, row_form, prepared_row_bytes, prepare_row, scratch_bytes, multiply, dequantize_row};
  }
};

}  // namespace
}  // namespace markbase::cpu
