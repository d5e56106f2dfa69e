#pragma once

#include "int8_row.h"
#include "weight_row.h"

namespace markbase::cpu {
namespace {

/**
 * One scalar per unit for kLanes units from `source` on, of which `count` exist; the other lanes are zero. With a group
 * of 128 two units of 64 share a scalar.
 */
template <class Simd>
inline typename Simd::Float load_units(ScalarType type, const uint8_t* source, bool is_shared, uint32_t count) {
  if (is_shared) return Simd::repeat_lanes(Simd::load_scalars(type, source, smaller(count, Simd::kLanes) / 2));
  if (count >= Simd::kLanes) return Simd::load_scalars(type, source);
  return Simd::load_scalars(type, source, count);
}

/**
 * Products of 8-bit activation rows with affine weights, mxfp4 and nvfp4, lanes along the columns:
 *
 *   y[r][n] = sum_u  scale_w[n][u] * scale_x[r][u] * (sum_{k in u} q[n][k] * code[r][k])  +  bias[n][u] * sum_x[r][u]
 *
 * with u running over units of 16, 32 or 64 columns. The inner sum is exact in integers. Each weight is read and unpacked
 * once for `Rows` activation rows, in the order of the file. This form is for one or a few rows, which are limited by memory bandwidth.
 *
 * `Simd::DotStep<Bits, Unit, IsE2m1>` does one register of weights: kColumns columns, which are kUnits units whose sums come out
 * in equal runs of lanes. If an instruction set takes signed codes, kOffset is subtracted from them and added back through the bias.
 * E2M1 numbers are taken twice as large, so that they are whole; kOffset is -kE2m1Zero where codes have no sign. What all their terms
 * have in common is left to the end: that factor, and the offset, whose sum of scale_w * sum_x is kept apart.
 */
template <class Simd>
struct Int8Product {
  using Float = typename Simd::Float;
  static constexpr uint32_t kLanes = Simd::kLanes;
  static constexpr uint32_t kMaxRows = 4;

  // Bytes from the current read to the prefetch: the rate of one core, 30 GB/s, times a latency of 200 ns, and beyond the end of a page,
  // where hardware prefetchers stop. Measured on Zen 4 as a part of the read bandwidth with 1 and 2 threads: 0.65 to 0.75 without, or with
  // up to 4 KiB into any cache; 0.86 to 0.98 with 8 KiB into the second level.
  static constexpr size_t kCodesAhead = 8192;
  static constexpr size_t kScalesAhead = 1024;
  static constexpr size_t kPortionBytes = 128 * 1024;

  static void run(const WeightView& weight, const void* prepared, uint32_t rows, uint32_t begin, uint32_t end, float* y, size_t y_stride) {
    // Outputs in portions that stay in the second-level cache while one block of rows after another uses them.
    const auto portion = static_cast<uint32_t>(kPortionBytes / weight_row_bytes(weight)) + 1;
    const uint32_t outputs = rows <= kMaxRows ? end - begin : portion;
    visit_codes(weight, [&](auto codes, auto unit) {
      constexpr int kUnit = decltype(unit)::kBits;
      const size_t row_bytes = int8_row_bytes(weight.in, kUnit == 16);
      for (uint32_t first = begin; first < end; first += outputs) {
        const uint32_t last = smaller(end, first + outputs);
        for (uint32_t r = 0; r < rows; r += kMaxRows) {
          const uint8_t* x = static_cast<const uint8_t*>(prepared) + r * row_bytes;
          const uint32_t count = smaller(rows - r, kMaxRows);
          float* target = y + r * y_stride + (first - begin);
          run_rows<decltype(codes), kUnit>(weight, x, row_bytes, count, first, last, target, y_stride);
        }
      }
    });
  }

 private:
  template <class Codes, int Unit>
  static void run_rows(const WeightView& weight,
                       const uint8_t* prepared,
                       size_t row_bytes,
                       uint32_t rows,
                       uint32_t begin,
                       uint32_t end,
                       float* y,
                       size_t y_stride) {
    Int8Row x[kMaxRows];
    for (uint32_t r = 0; r < rows; ++r) x[r] = int8_row(prepared + r * row_bytes, weight.in, Unit == 16);
    switch (rows) {
      case 1: return run_outputs<Codes, Unit, 1>(weight, x, begin, end, y, y_stride);
      case 2: return run_outputs<Codes, Unit, 2>(weight, x, begin, end, y, y_stride);
      case 3: return run_outputs<Codes, Unit, 3>(weight, x, begin, end, y, y_stride);
      default: return run_outputs<Codes, Unit, 4>(weight, x, begin, end, y, y_stride);
    }
  }

  template <class Codes, int Unit, uint32_t Rows>
  static void run_outputs(const WeightView& weight, const Int8Row* x, uint32_t begin, uint32_t end, float* y, size_t y_stride) {
    constexpr bool kIsE2m1 = Codes::kIsE2m1;
    constexpr WeightFormat kFormat = kE2m1Format<Unit>;
    using Step = typename Simd::template DotStep<Codes::kBits, Unit, kIsE2m1>;
    constexpr uint32_t kStepBytes = Step::kColumns * Codes::kBits / 8;
    constexpr uint32_t kUnitBytes = Unit * Codes::kBits / 8;
    constexpr uint32_t kStepsPerChunk = kLanes / Step::kUnits;
    const uint32_t units = weight.in / Unit;
    const bool is_shared = weight.group != Unit;
    const uint32_t scalar_size = scale_bytes(weight);
    const size_t scales_stride = size_t{weight.in / weight.group} * scalar_size;
    const uint8_t* codes_end = weight_row(weight, weight.out);
    for (uint32_t n = begin; n < end; ++n) {
      const uint8_t* codes = weight_row(weight, n);
      const uint8_t* scales = static_cast<const uint8_t*>(weight.scales) + n * scales_stride;
      const uint8_t* biases = kIsE2m1 ? nullptr : static_cast<const uint8_t*>(weight.biases) + n * scales_stride;
      Float sum[Rows], scaled_sum_x[Rows];
      for (uint32_t r = 0; r < Rows; ++r) sum[r] = scaled_sum_x[r] = Simd::zero();
      for (uint32_t u = 0; u < units; u += kLanes) {
        // The scales of the next kLanes units, one per lane.
        const size_t offset = size_t{is_shared ? u / 2 : u} * scalar_size;
        Simd::prefetch(scales + offset, kScalesAhead);
        Float scale, bias;
        if constexpr (kIsE2m1) {
          scale = bias = load_scale_parts<Simd, kFormat>(scales + offset, units - u);
        } else {
          Simd::prefetch(biases + offset, kScalesAhead);
          scale = load_units<Simd>(weight.scale_type, scales + offset, is_shared, units - u);
          bias = load_units<Simd>(weight.scale_type, biases + offset, is_shared, units - u);
          if constexpr (Step::kOffset != 0) bias = Simd::fma(scale, Simd::set(Step::kOffset), bias);
        }
        alignas(64) float product[Rows][kLanes];
        for (uint32_t r = 0; r < Rows; ++r) {
          Simd::store(product[r], Simd::multiply(scale, Simd::load(x[r].template scale<Unit>() + u)));
          Float& target = kIsE2m1 ? scaled_sum_x[r] : sum[r];
          if constexpr (!kIsE2m1 || Step::kOffset != 0) target = Simd::fma(bias, Simd::load(x[r].template sum<Unit>() + u), target);
        }
        const uint32_t column = u * Unit;
        if (units - u >= kLanes) {
          for (uint32_t step = 0; step < kStepsPerChunk; ++step, codes += kStepBytes) {
            Simd::prefetch(codes, kCodesAhead);
            add_step<Step>(codes, column, step, x, product, sum);
          }
          continue;
        }
        const uint32_t steps = (units - u) / Step::kUnits;
        for (uint32_t step = 0; step < steps; ++step, codes += kStepBytes) {
          Simd::prefetch(codes, kCodesAhead);
          add_step<Step>(codes, column, step, x, product, sum);
        }
        const uint32_t tail_units = (units - u) % Step::kUnits;
        if (tail_units == 0) continue;
        // The activations beyond the row's end are zero, so the codes there may be those of the next row. A copy would wait for its own
        // store: with a tail in every row, that halves the rate.
        Simd::prefetch(codes, kCodesAhead);
        if (static_cast<size_t>(codes_end - codes) >= kStepBytes) {
          add_step<Step>(codes, column, steps, x, product, sum);
        } else {
          alignas(64) uint8_t tail[kStepBytes] = {};
          memcpy(tail, codes, tail_units * kUnitBytes);
          add_step<Step>(tail, column, steps, x, product, sum);
        }
      }
      for (uint32_t r = 0; r < Rows; ++r) {
        if constexpr (kIsE2m1 && Step::kOffset != 0) sum[r] = Simd::fma(scaled_sum_x[r], Simd::set(Step::kOffset), sum[r]);
        y[r * y_stride + (n - begin)] = Simd::sum(sum[r]) * (kIsE2m1 ? 0.5f * kScaleUnit<Simd, kFormat> : 1.0f);
      }
    }
  }

  /** Adds step number `step` of the chunk that starts at `column`; `product` holds the chunk's scales. */
  template <class Step, uint32_t Rows>
  static void add_step(
      const uint8_t* codes, uint32_t column, uint32_t step, const Int8Row* x, const float (&product)[Rows][kLanes], Float (&sum)[Rows]) {
    const typename Step::Codes decoded = Step::decode(codes);
    for (uint32_t r = 0; r < Rows; ++r) {
      const Float dot = Simd::to_float(Step::dot(decoded, x[r].codes + column + step * Step::kColumns));
      sum[r] = Simd::fma(dot, Step::spread(product[r] + step * Step::kUnits), sum[r]);
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
