#pragma once

#include "dequantize.h"
#include "float_product.h"
#include "int8_product.h"

namespace markbase::cpu {
namespace {

/**
 * The functions of a LinearCore for one instruction set. `Batch` multiplies many 8-bit rows: it has
 * kMinRows, scratch_bytes(weight, rows) and run(weight, prepared, rows, begin, end, y, y_stride, scratch).
 */
template <class Simd, class Batch>
struct Core {
  static RowForm row_form(const WeightView& weight, bool is_fast) {
    if (!is_fast || weight.format != kWeightAffine) return RowForm::kFloat32;
    return weight.bits == 4 ? RowForm::kInt8Nibble : RowForm::kInt8;
  }

  static size_t prepared_row_bytes(RowForm form, uint32_t in) {
    return form == RowForm::kFloat32 ? sizeof(float) * round_up(in, 16) : int8_row_bytes(in);
  }

  static void prepare_row(RowForm form, uint32_t in, const float* x, void* prepared) {
    if (form == RowForm::kInt8) return prepare_int8_row<0>(in, x, prepared);
    if (form == RowForm::kInt8Nibble) return prepare_int8_row<Simd::kNibbleBlock>(in, x, prepared);
    auto* target = static_cast<float*>(prepared);
    memcpy(target, x, in * sizeof(float));
    memset(target + in, 0, (round_up(in, 16) - in) * sizeof(float));
  }

  static size_t scratch_bytes(const WeightView& weight, RowForm form, uint32_t rows) {
    if (form == RowForm::kFloat32) return sizeof(float) * FloatProduct<Simd>::scratch_floats(weight) + 64;
    return (rows >= Batch::kMinRows ? Batch::scratch_bytes(weight, rows) : 0) + 64;
  }

  static void multiply(const WeightView& weight, RowForm form, const void* prepared, uint32_t rows, uint32_t begin,
                       uint32_t end, float* y, size_t y_stride, void* scratch) {
    if (rows == 0 || begin >= end) return;
    auto* floats = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch) + 63) & ~uintptr_t{63});
    if (form == RowForm::kFloat32) {
      FloatProduct<Simd>::run(weight, static_cast<const float*>(prepared), round_up(weight.in, 16), rows, begin, end, y,
                              y_stride, floats);
    } else if (rows >= Batch::kMinRows) {
      Batch::run(weight, prepared, rows, begin, end, y, y_stride, floats);
    } else {
      Int8Product<Simd>::run(weight, prepared, rows, begin, end, y, y_stride);
    }
  }

  static void dequantize_row(const WeightView& weight, uint32_t row, float* out) {
    dequantize_weight_row<Simd>(weight, row, out);
  }

  static constexpr LinearCore table(const char* isa) {
    return {isa, row_form, prepared_row_bytes, prepare_row, scratch_bytes, multiply, dequantize_row};
  }
};

/** For instruction sets whose product for few rows serves many rows as well. */
struct NoBatch {
  static constexpr uint32_t kMinRows = UINT32_MAX;
  static size_t scratch_bytes(const WeightView&, uint32_t) { return 0; }
  static void run(const WeightView&, const void*, uint32_t, uint32_t, uint32_t, float*, size_t, void*) {}
};

}  // namespace
}  // namespace markbase::cpu
