#pragma once

#include "int8_row.h"
#include "simd_neon.h"
#include "weight_row.h"

namespace markbase::cpu {
namespace {

/**
 * Products of several 8-bit activation rows with affine weights, mxfp4 and nvfp4 by smmla, which multiplies 2 rows x 8 columns with
 * 2 rows x 8 columns into 2 x 2 sums. The sums are those of Int8Product.
 *
 * Up to 8 activation rows are packed once, two by two, so that a register holds 8 columns of a pair; 4 weight rows are
 * unpacked at a time and paired on the fly. Per 16 columns that is 16 smmla for 8 loads of activations, and each weight
 * row is unpacked once per 8 activation rows.
 */
struct NeonI8mmTile {
  static constexpr bool kExists = true;
  static constexpr uint32_t kRows = 8;
  static constexpr uint32_t kOutputs = 4;

  static size_t scratch_bytes(const WeightView& weight, uint32_t) {
    const size_t units = int8_row_units(weight.in, weight.format == kWeightNvfp4 ? 16 : 32);
    return size_t{kRows} * int8_row_codes(weight.in) + sizeof(float) * units * (2 * 2 * kRows + 2 * 2 * kOutputs + 2);
  }

  static void run(const WeightView& weight,
                  const void* prepared,
                  uint32_t rows,
                  uint32_t begin,
                  uint32_t end,
                  float* y,
                  size_t y_stride,
                  void* scratch) {
    visit_codes(weight, [&](auto codes, auto unit) {
      constexpr int kUnit = decltype(unit)::kBits;
      for (uint32_t r = 0; r < rows; r += kRows) {
        const uint8_t* first = static_cast<const uint8_t*>(prepared) + r * int8_row_bytes(weight.in, kUnit == 16);
        const uint32_t count = smaller(rows - r, kRows);
        run_pairs<decltype(codes), kUnit>(weight, first, count, begin, end, y + r * y_stride, y_stride, scratch);
      }
    });
  }

 private:
  /** Scratch data that a block of rows shares. */
  struct Packed {
    int8_t* codes;   ///< [in / 16][pairs][16 columns: 8 of each row, then the other 8]
    float* scale_x;  ///< [units][pairs][4] = {row 0, row 0, row 1, row 1}
    float* sum_x;    ///< the same
    float* scale_w;  ///< [units][2][4] = {output 0, output 1, output 0, output 1}
    float* bias_w;   ///< the same
    float* row;      ///< [units] of one weight row
  };

  template <class Codes, int Unit>
  static void run_pairs(const WeightView& weight,
                        const uint8_t* prepared,
                        uint32_t rows,
                        uint32_t begin,
                        uint32_t end,
                        float* y,
                        size_t y_stride,
                        void* scratch) {
    if (rows <= 2) return run_block<Codes, Unit, 1>(weight, prepared, rows, begin, end, y, y_stride, scratch);
    if (rows <= 4) return run_block<Codes, Unit, 2>(weight, prepared, rows, begin, end, y, y_stride, scratch);
    return run_block<Codes, Unit, 4>(weight, prepared, rows, begin, end, y, y_stride, scratch);
  }

  /** Rows and outputs that do not exist repeat the last one; their results are dropped. */
  template <class Codes, int Unit, uint32_t Pairs>
  static void run_block(const WeightView& weight,
                        const uint8_t* prepared,
                        uint32_t rows,
                        uint32_t begin,
                        uint32_t end,
                        float* y,
                        size_t y_stride,
                        void* scratch) {
    const uint32_t units = weight.in / Unit;
    Packed packed;
    packed.codes = static_cast<int8_t*>(scratch);
    packed.scale_x = reinterpret_cast<float*>(packed.codes + size_t{kRows} * int8_row_codes(weight.in));
    packed.sum_x = packed.scale_x + size_t{units} * Pairs * 4;
    packed.scale_w = packed.sum_x + size_t{units} * Pairs * 4;
    packed.bias_w = packed.scale_w + size_t{units} * 8;
    packed.row = packed.bias_w + size_t{units} * 8;
    pack_rows<Unit, Pairs>(weight.in, prepared, rows, packed);
    for (uint32_t first = begin; first < end; first += kOutputs) {
      uint32_t outputs[kOutputs];
      for (uint32_t i = 0; i < kOutputs; ++i) outputs[i] = smaller(first + i, end - 1);
      load_scales<Codes, Unit>(weight, outputs, packed);
      float32x4_t sum[Pairs][2];
      multiply<Codes, Unit, Pairs>(weight, outputs, packed, sum);
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t i = 0; i < smaller(end - first, kOutputs); ++i) {
          float lanes[4];
          vst1q_f32(lanes, sum[r / 2][i / 2]);
          y[r * y_stride + (first - begin) + i] = lanes[r % 2 * 2 + i % 2];
        }
      }
    }
  }

  template <int Unit, uint32_t Pairs>
  static void pack_rows(uint32_t in, const uint8_t* prepared, uint32_t rows, const Packed& packed) {
    const size_t row_bytes = int8_row_bytes(in, Unit == 16);
    for (uint32_t pair = 0; pair < Pairs; ++pair) {
      const Int8Row a = int8_row(prepared + smaller(2 * pair, rows - 1) * row_bytes, in, Unit == 16);
      const Int8Row b = int8_row(prepared + smaller(2 * pair + 1, rows - 1) * row_bytes, in, Unit == 16);
      for (uint32_t k = 0; k < in; k += 16) {
        int8_t* target = packed.codes + (size_t{k} / 16 * Pairs + pair) * 32;
        pair_up(vld1q_s8(a.codes + k), vld1q_s8(b.codes + k), target);
      }
      for (uint32_t u = 0; u < in / Unit; ++u) {
        const size_t place = (size_t{u} * Pairs + pair) * 4;
        for (int half = 0; half < 2; ++half) {
          packed.scale_x[place + half] = a.scale<Unit>()[u];
          packed.scale_x[place + 2 + half] = b.scale<Unit>()[u];
          packed.sum_x[place + half] = a.sum<Unit>()[u];
          packed.sum_x[place + 2 + half] = b.sum<Unit>()[u];
        }
      }
    }
  }

  static void pair_up(int8x16_t a, int8x16_t b, int8_t* target) {
    const int64x2_t x = vreinterpretq_s64_s8(a);
    const int64x2_t y = vreinterpretq_s64_s8(b);
    vst1q_s8(target, vreinterpretq_s8_s64(vzip1q_s64(x, y)));
    vst1q_s8(target + 16, vreinterpretq_s8_s64(vzip2q_s64(x, y)));
  }

  template <class Codes, int Unit>
  static void load_scales(const WeightView& weight, const uint32_t (&outputs)[kOutputs], const Packed& packed) {
    constexpr float kOffset = NeonSimd::DotStep<Codes::kBits, Unit>::kOffset;
    const uint32_t groups = weight.in / weight.group;
    if constexpr (Codes::kIsE2m1) {
      // The numbers are doubled; there are no biases.
      for (uint32_t i = 0; i < kOutputs; ++i) {
        const uint8_t* scales = static_cast<const uint8_t*>(weight.scales) + size_t{outputs[i]} * groups;
        for (uint32_t g = 0; g < groups; ++g) packed.row[g] = 0.5f * small_scale<kE2m1Format<Unit>>(scales[g]);
        spread(packed.row, groups, 1, i, packed.scale_w);
      }
      return;
    }
    const uint32_t units_per_group = weight.group / Unit;
    for (uint32_t i = 0; i < kOutputs; ++i) {
      load_scalars<NeonSimd>(weight.scale_type, weight.scales, size_t{outputs[i]} * groups, groups, packed.row);
      spread(packed.row, groups, units_per_group, i, packed.scale_w);
      load_scalars<NeonSimd>(weight.scale_type, weight.biases, size_t{outputs[i]} * groups, groups, packed.row);
      spread(packed.row, groups, units_per_group, i, packed.bias_w);
    }
    if (kOffset == 0) return;
    for (uint32_t i = 0; i < groups * units_per_group * 8; i += 4) {
      const float32x4_t scale = vld1q_f32(packed.scale_w + i);
      vst1q_f32(packed.bias_w + i, vfmaq_f32(vld1q_f32(packed.bias_w + i), scale, vdupq_n_f32(kOffset)));
    }
  }

  static void spread(const float* row, uint32_t groups, uint32_t units_per_group, uint32_t output, float* target) {
    float* place = target + output / 2 * 4 + output % 2;
    for (uint32_t g = 0; g < groups; ++g) {
      for (uint32_t copy = 0; copy < units_per_group; ++copy, place += 8) place[0] = place[2] = row[g];
    }
  }

  template <class Codes, int Unit, uint32_t Pairs>
  static void multiply(const WeightView& weight, const uint32_t (&outputs)[kOutputs], const Packed& packed, float32x4_t (&sum)[Pairs][2]) {
    using Step = NeonSimd::DotStep<Codes::kBits, Unit, Codes::kIsE2m1>;
    constexpr uint32_t kUnits = Step::kUnits;  // two units of 16 columns are the first and the second halves of the registers
    const uint8_t* source[kOutputs];
    for (uint32_t i = 0; i < kOutputs; ++i) source[i] = weight_row(weight, outputs[i]);
    const size_t next = weight_row_bytes(weight) * kOutputs;
    for (auto& pair : sum) pair[0] = pair[1] = vdupq_n_f32(0.0f);
    const int8_t* codes = packed.codes;
    for (uint32_t u = 0; u < weight.in / Unit; u += kUnits) {
      typename Step::Codes w[kOutputs];
      for (uint32_t i = 0; i < kOutputs; ++i) {
        NeonSimd::prefetch(source[i], next);
        w[i] = Step::decode(source[i]);
        source[i] += Step::kColumns * Codes::kBits / 8;
      }
      int32x4_t dot[kUnits][Pairs][2];
      for (auto& unit : dot) {
        for (auto& pair : unit) pair[0] = pair[1] = vdupq_n_s32(0);
      }
      for (uint32_t part = 0; part < Step::kColumns / 16; ++part, codes += 32 * Pairs) {
        for (uint32_t o = 0; o < 2; ++o) {
          const int64x2_t first = vreinterpretq_s64_s8(w[2 * o].part[part]);
          const int64x2_t second = vreinterpretq_s64_s8(w[2 * o + 1].part[part]);
          const int8x16_t low = vreinterpretq_s8_s64(vzip1q_s64(first, second));
          const int8x16_t high = vreinterpretq_s8_s64(vzip2q_s64(first, second));
          for (uint32_t pair = 0; pair < Pairs; ++pair) {
            int32x4_t& second_half = dot[kUnits - 1][pair][o];
            dot[0][pair][o] = vmmlaq_s32(dot[0][pair][o], vld1q_s8(codes + pair * 32), low);
            second_half = vmmlaq_s32(second_half, vld1q_s8(codes + pair * 32 + 16), high);
          }
        }
      }
      for (uint32_t i = 0; i < 2 * kUnits; ++i) {
        const uint32_t unit = i / 2, o = i % 2;
        const float32x4_t scale_w = vld1q_f32(packed.scale_w + (u + unit) * 8 + o * 4);
        for (uint32_t pair = 0; pair < Pairs; ++pair) {
          const size_t place = (size_t{u + unit} * Pairs + pair) * 4;
          const float32x4_t scale = vmulq_f32(scale_w, vld1q_f32(packed.scale_x + place));
          float32x4_t with_bias = sum[pair][o];
          if constexpr (!Codes::kIsE2m1) {
            const float32x4_t bias_w = vld1q_f32(packed.bias_w + u * 8 + o * 4);
            with_bias = vfmaq_f32(with_bias, bias_w, vld1q_f32(packed.sum_x + place));
          }
          sum[pair][o] = vfmaq_f32(with_bias, vcvtq_f32_s32(dot[unit][pair][o]), scale);
        }
      }
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
