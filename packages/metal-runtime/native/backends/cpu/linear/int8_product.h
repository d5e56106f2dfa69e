#pragma once

#include "int8_row.h"
#include "weight_row.h"

namespace markbase::cpu {
namespace {

/** Columns of the smallest piece that shares one weight scale and one activation scale. */
constexpr int int8_unit(uint32_t group) { return group == 32 ? 32 : 64; }

/** Writes scale and bias of weight row `row` per unit of columns; a group of 128 is two units with the same values. */
template <class Simd, int Unit>
inline void load_units(const WeightView& weight, uint32_t row, float* scale, float* bias) {
  const uint32_t groups = weight.in / weight.group;
  load_scalars<Simd>(weight.scale_type, weight.scales, size_t{row} * groups, groups, scale);
  load_scalars<Simd>(weight.scale_type, weight.biases, size_t{row} * groups, groups, bias);
  if (weight.group == Unit) return;
  for (uint32_t g = groups; g-- > 0;) {
    scale[2 * g] = scale[2 * g + 1] = scale[g];
    bias[2 * g] = bias[2 * g + 1] = bias[g];
  }
}

/**
 * Products of 8-bit activation rows with affine weights, lanes along the columns:
 *
 *   y[r][n] = sum_u  scale_w[n][u] * scale_x[r][u] * (sum_{k in u} q[n][k] * code[r][k])  +  bias[n][u] * sum_x[r][u]
 *
 * with u running over units of 32 or 64 columns. The inner sum is exact in integers. Each weight is read and unpacked
 * once for `Rows` activation rows, in the order of the file. This is the form for one or a few rows, which wait for
 * memory.
 *
 * `Simd::DotStep<Bits, Unit>` does one register of weights: kColumns columns, which are kUnits units whose sums come out
 * in equal runs of lanes. Where an instruction set wants signed codes, kOffset is subtracted from them and comes back
 * through the bias.
 */
template <class Simd>
struct Int8Product {
  using Float = typename Simd::Float;
  static constexpr uint32_t kLanes = Simd::kLanes;
  static constexpr uint32_t kMaxRows = 4;

  /** Floats of scratch: scale and bias of one weight row, and scale products for each activation row. */
  static size_t scratch_floats(const WeightView& weight) {
    return size_t{2 + kMaxRows} * int8_row_units(weight.in, 32);
  }

  static void run(const WeightView& weight, const void* prepared, uint32_t rows, uint32_t begin, uint32_t end, float* y,
                  size_t y_stride, float* scratch) {
    const size_t row_bytes = int8_row_bytes(weight.in);
    visit_bits(weight.bits, [&](auto tag) {
      constexpr int kBits = decltype(tag)::kBits;
      for (uint32_t r = 0; r < rows; r += kMaxRows) {
        const uint8_t* first = static_cast<const uint8_t*>(prepared) + r * row_bytes;
        const uint32_t count = smaller(rows - r, kMaxRows);
        if (int8_unit(weight.group) == 32) {
          run_rows<kBits, 32>(weight, first, row_bytes, count, begin, end, y + r * y_stride, y_stride, scratch);
        } else {
          run_rows<kBits, 64>(weight, first, row_bytes, count, begin, end, y + r * y_stride, y_stride, scratch);
        }
      }
    });
  }

 private:
  template <int Bits, int Unit>
  static void run_rows(const WeightView& weight, const uint8_t* prepared, size_t row_bytes, uint32_t rows, uint32_t begin,
                       uint32_t end, float* y, size_t y_stride, float* scratch) {
    Int8Row x[kMaxRows];
    for (uint32_t r = 0; r < rows; ++r) x[r] = int8_row(prepared + r * row_bytes, weight.in);
    switch (rows) {
      case 1: return run_outputs<Bits, Unit, 1>(weight, x, begin, end, y, y_stride, scratch);
      case 2: return run_outputs<Bits, Unit, 2>(weight, x, begin, end, y, y_stride, scratch);
      case 3: return run_outputs<Bits, Unit, 3>(weight, x, begin, end, y, y_stride, scratch);
      default: return run_outputs<Bits, Unit, 4>(weight, x, begin, end, y, y_stride, scratch);
    }
  }

  template <int Bits, int Unit, uint32_t Rows>
  static void run_outputs(const WeightView& weight, const Int8Row* x, uint32_t begin, uint32_t end, float* y,
                          size_t y_stride, float* scratch) {
    using Step = typename Simd::template DotStep<Bits, Unit>;
    constexpr uint32_t kStepBytes = Step::kColumns * Bits / 8;
    const uint32_t units = int8_row_units(weight.in, Unit);
    const uint32_t steps = weight.in / Step::kColumns;
    const uint32_t tail_bytes = weight.in % Step::kColumns * Bits / 8;
    float* scale = scratch;
    float* bias = scale + units;
    float* product = bias + units;
    memset(scratch, 0, sizeof(float) * 2 * units);  // the padding stays zero
    for (uint32_t n = begin; n < end; ++n) {
      load_units<Simd, Unit>(weight, n, scale, bias);
      Float sum[Rows];
      for (uint32_t r = 0; r < Rows; ++r) sum[r] = Simd::zero();
      for (uint32_t u = 0; u < units; u += kLanes) {
        const Float s = Simd::load(scale + u);
        Float b = Simd::load(bias + u);
        if constexpr (Step::kOffset != 0) b = Simd::fma(s, Simd::set(Step::kOffset), b);
        for (uint32_t r = 0; r < Rows; ++r) {
          Simd::store(product + r * units + u, Simd::multiply(s, Simd::load(x[r].template scale<Unit>() + u)));
          sum[r] = Simd::fma(b, Simd::load(x[r].template sum<Unit>() + u), sum[r]);
        }
      }
      const uint8_t* codes = weight_row(weight, n);
      for (uint32_t step = 0; step < steps; ++step, codes += kStepBytes) {
        Simd::prefetch(codes);
        add_step<Step>(codes, step, x, product, units, sum);
      }
      if (tail_bytes != 0) {
        alignas(64) uint8_t tail[kStepBytes] = {};
        memcpy(tail, codes, tail_bytes);
        add_step<Step>(tail, steps, x, product, units, sum);
      }
      for (uint32_t r = 0; r < Rows; ++r) y[r * y_stride + (n - begin)] = Simd::sum(sum[r]);
    }
  }

  template <class Step, uint32_t Rows>
  static void add_step(const uint8_t* codes, uint32_t step, const Int8Row* x, const float* product, uint32_t units,
                       Float (&sum)[Rows]) {
    const typename Step::Codes decoded = Step::decode(codes);
    for (uint32_t r = 0; r < Rows; ++r) {
      const Float dot = Simd::to_float(Step::dot(decoded, x[r].codes + size_t{step} * Step::kColumns));
      sum[r] = Simd::fma(dot, Step::spread(product + r * units + step * Step::kUnits), sum[r]);
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
