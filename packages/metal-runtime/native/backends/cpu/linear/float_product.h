#pragma once

#include "weight_row.h"

namespace markbase::cpu {
namespace {

/**
 * Products with float32 activations, y[r][n] = sum_k x[r][k] * w[n][k].
 *
 * The sum of one (r, n) always runs the same way: lane l of one accumulator takes the columns k = l (mod lanes) in
 * ascending order with one fused multiply-add each, and the lanes are added at the end in a fixed tree. Blocking only
 * decides which (r, n) are computed side by side, so results do not depend on the number of rows or the split of the
 * outputs. Blocks that extend beyond the end repeat their last row or output and drop the copy.
 */
template <class Simd>
struct FloatProduct {
  using Float = typename Simd::Float;
  static constexpr uint32_t kLanes = Simd::kLanes;
  static constexpr uint32_t kChunk = 32;  // columns of one decoding step; every group is a multiple of it
  static constexpr uint32_t kMaxOutputs = 4;
  static constexpr uint32_t kMaxRows = 4;  // 4 rows x 4 outputs beat 8 x 2, also where weights must be decoded

  /** Floats of scratch: scales and biases of the outputs of a block. */
  static size_t scratch_floats(const WeightView& weight) {
    if (!is_quantized(weight.format)) return 0;
    return size_t{2} * kMaxOutputs * round_up(weight.in / weight.group, 16);
  }

  static void run(const WeightView& weight,
                  const float* x,
                  size_t x_stride,
                  uint32_t rows,
                  uint32_t begin,
                  uint32_t end,
                  float* y,
                  size_t y_stride,
                  float* scratch) {
    // Outputs in portions that stay in the second-level cache while one block of rows after another uses them.
    const size_t row_bytes = weight_row_bytes(weight);
    const auto portion = static_cast<uint32_t>(kPortionBytes / row_bytes / kMaxOutputs * kMaxOutputs);
    const uint32_t outputs = rows <= kMaxRows ? end - begin : portion > kMaxOutputs ? portion : kMaxOutputs;
    for (uint32_t first = begin; first < end; first += outputs) {
      run_portion(weight, x, x_stride, rows, first, smaller(end, first + outputs), y + (first - begin), y_stride, scratch);
    }
  }

 private:
  static constexpr size_t kPortionBytes = 128 * 1024;

  static void run_portion(const WeightView& weight,
                          const float* x,
                          size_t x_stride,
                          uint32_t rows,
                          uint32_t begin,
                          uint32_t end,
                          float* y,
                          size_t y_stride,
                          float* scratch) {
    if (weight.format == kWeightAffine) {
      visit_bits(weight.bits, [&](auto tag) {
        for_row_blocks<Affine<decltype(tag)::kBits>>(weight, x, x_stride, rows, begin, end, y, y_stride, scratch);
      });
    } else if (is_quantized(weight.format)) {
      visit_small_floats(weight.format, [&](auto tag) {
        for_row_blocks<Small<decltype(tag)::kFormat>>(weight, x, x_stride, rows, begin, end, y, y_stride, scratch);
      });
    } else if (weight.format == kWeightBf16) {
      for_row_blocks<Plain<kScalarBf16>>(weight, x, x_stride, rows, begin, end, y, y_stride, scratch);
    } else if (weight.format == kWeightF16) {
      for_row_blocks<Plain<kScalarF16>>(weight, x, x_stride, rows, begin, end, y, y_stride, scratch);
    } else {
      for_row_blocks<Plain<kScalarF32>>(weight, x, x_stride, rows, begin, end, y, y_stride, scratch);
    }
  }

  template <uint32_t Rows, uint32_t Outputs>
  struct Block {
    const float* x[Rows];
    const uint8_t* weight[Outputs];
    const float* scale[Outputs];
    const float* bias[Outputs];
    size_t ahead;  // bytes from a weight to the one to fetch with it
    Float sum[Rows][Outputs];
  };

  /**
   * Outputs are processed together, each as a separate stream. The prefetch is for the same column of a later set of outputs, at least 8
   * KiB ahead to cover the latency of memory; if that is too far to still be cached when used, 8 KiB ahead in the row.
   */
  static size_t fetch_distance(size_t row_bytes, uint32_t outputs) {
    const size_t set = row_bytes * outputs;
    return set > 32 * 1024 ? 8192 : (8191 + set) / set * set;
  }

  /** Affine weights: w = code * scale + bias, rounded once, then one fused multiply-add. */
  template <int Bits>
  struct Affine {
    template <uint32_t Outputs>
    static void load_scales(const WeightView& weight,
                            const uint32_t (&outputs)[Outputs],
                            const float* (&scale)[Outputs],
                            const float* (&bias)[Outputs],
                            float* scratch) {
      const uint32_t groups = weight.in / weight.group;
      for (uint32_t n = 0; n < Outputs; ++n) {
        float* target = scratch + n * 2 * round_up(groups, 16);
        scale[n] = target;
        bias[n] = target + round_up(groups, 16);
        const size_t first = size_t{outputs[n]} * groups;
        cpu::load_scalars<Simd>(weight.scale_type, weight.scales, first, groups, target);
        cpu::load_scalars<Simd>(weight.scale_type, weight.biases, first, groups, target + round_up(groups, 16));
      }
    }

    template <uint32_t Rows, uint32_t Outputs>
    static void accumulate(const WeightView& weight, Block<Rows, Outputs>& block) {
      const uint32_t chunks = weight.group / kChunk;
      uint32_t chunk = 0;
      for (uint32_t group = 0; group < weight.in / weight.group; ++group) {
        for (uint32_t stop = chunk + chunks; chunk < stop; ++chunk) {
          for (uint32_t n = 0; n < Outputs; ++n) {
            Simd::prefetch(block.weight[n] + chunk * (kChunk * Bits / 8), block.ahead);
            const typename Simd::template Dequantizer<Bits> dequantize(block.scale[n][group], block.bias[n][group]);
            Float w[kChunk / kLanes];
            dequantize.decode32(block.weight[n] + chunk * (kChunk * Bits / 8), w);
            for (uint32_t v = 0; v < kChunk / kLanes; ++v) {
              for (uint32_t r = 0; r < Rows; ++r) {
                const Float x = Simd::load(block.x[r] + chunk * kChunk + v * kLanes);
                block.sum[r][n] = Simd::fma(w[v], x, block.sum[r][n]);
              }
            }
          }
        }
      }
    }
  };

  /** Small floats: w = element * scale, exact, then one fused multiply-add. */
  template <WeightFormat Kind>
  struct Small {
    template <uint32_t Outputs>
    static void load_scales(const WeightView& weight,
                            const uint32_t (&outputs)[Outputs],
                            const float* (&scale)[Outputs],
                            const float* (&)[Outputs],
                            float* scratch) {
      const uint32_t groups = weight.in / weight.group;
      for (uint32_t n = 0; n < Outputs; ++n) {
        float* target = scratch + n * round_up(groups, 16);
        scale[n] = target;
        const uint8_t* source = static_cast<const uint8_t*>(weight.scales) + size_t{outputs[n]} * groups;
        for (uint32_t g = 0; g < groups; g += kLanes) {
          const Float scales = load_small_scales<Simd, Kind>(source + g, groups - g);
          Simd::store(target + g, kElementUnit<Kind> == 1.0f ? scales : Simd::multiply(scales, Simd::set(kElementUnit<Kind>)));
        }
      }
    }

    template <uint32_t Rows, uint32_t Outputs>
    static void accumulate(const WeightView& weight, Block<Rows, Outputs>& block) {
      for (uint32_t k = 0; k < weight.in; k += kChunk) {
        for (uint32_t n = 0; n < Outputs; ++n) {
          Simd::prefetch(block.weight[n] + size_t{k} * weight.bits / 8, block.ahead);
          Float w[kChunk / kLanes];
          load_small_floats < Simd, Kind,
              Rows<kMaxRows>(block.weight[n], k, [&](uint32_t group) { return Simd::set(block.scale[n][group]); }, w);
          for (uint32_t v = 0; v < kChunk / kLanes; ++v) {
            for (uint32_t r = 0; r < Rows; ++r) {
              block.sum[r][n] = Simd::fma(w[v], Simd::load(block.x[r] + k + v * kLanes), block.sum[r][n]);
            }
          }
        }
      }
    }
  };

  /** Weights that are not quantised. */
  template <ScalarType Type>
  struct Plain {
    template <uint32_t Outputs>
    static void load_scales(const WeightView&, const uint32_t (&)[Outputs], const float* (&)[Outputs], const float* (&)[Outputs], float*) {}

    template <uint32_t Rows, uint32_t Outputs>
    static void accumulate(const WeightView& weight, Block<Rows, Outputs>& block) {
      constexpr uint32_t kBytes = Type == kScalarF32 ? 4 : 2;
      uint32_t k = 0;
      for (; k + kLanes <= weight.in; k += kLanes) {
        for (uint32_t n = 0; n < Outputs; ++n) {
          Simd::prefetch(block.weight[n] + size_t{k} * kBytes, block.ahead);
          add_products(Simd::load_scalars(Type, block.weight[n] + size_t{k} * kBytes), k, n, block);
        }
      }
      if (k == weight.in) return;
      for (uint32_t n = 0; n < Outputs; ++n) {
        float tail[kLanes] = {};
        cpu::load_scalars<Simd>(Type, block.weight[n], k, weight.in - k, tail);
        add_products(Simd::load(tail), k, n, block);  // prepared rows are padded with zeros
      }
    }

    template <uint32_t Rows, uint32_t Outputs>
    static void add_products(Float w, uint32_t k, uint32_t n, Block<Rows, Outputs>& block) {
      for (uint32_t r = 0; r < Rows; ++r) {
        block.sum[r][n] = Simd::fma(w, Simd::load(block.x[r] + k), block.sum[r][n]);
      }
    }
  };

  template <class Format, uint32_t Rows, uint32_t Outputs>
  static void run_block(const WeightView& weight,
                        const float* x,
                        size_t x_stride,
                        uint32_t rows,
                        uint32_t begin,
                        uint32_t end,
                        float* y,
                        size_t y_stride,
                        float* scratch) {
    for (uint32_t first = begin; first < end; first += Outputs) {
      Block<Rows, Outputs> block;
      block.ahead = fetch_distance(weight_row_bytes(weight), Outputs);
      uint32_t outputs[Outputs];
      for (uint32_t n = 0; n < Outputs; ++n) {
        outputs[n] = smaller(first + n, end - 1);
        block.weight[n] = weight_row(weight, outputs[n]);
      }
      Format::load_scales(weight, outputs, block.scale, block.bias, scratch);
      for (uint32_t r = 0; r < Rows; ++r) {
        block.x[r] = x + smaller(r, rows - 1) * x_stride;
        for (uint32_t n = 0; n < Outputs; ++n) block.sum[r][n] = Simd::zero();
      }
      Format::accumulate(weight, block);
      for (uint32_t r = 0; r < smaller(rows, Rows); ++r) {
        for (uint32_t n = 0; n < smaller(end - first, Outputs); ++n) {
          y[r * y_stride + (first - begin) + n] = Simd::sum(block.sum[r][n]);
        }
      }
    }
  }

  template <class Format>
  static void for_row_blocks(const WeightView& weight,
                             const float* x,
                             size_t x_stride,
                             uint32_t rows,
                             uint32_t begin,
                             uint32_t end,
                             float* y,
                             size_t y_stride,
                             float* scratch) {
    for (uint32_t r = 0; r < rows; r += kMaxRows) {
      const uint32_t left = rows - r;
      const float* first = x + r * x_stride;
      float* target = y + r * y_stride;
      if (left == 1) {
        run_block<Format, 1, kMaxOutputs>(weight, first, x_stride, left, begin, end, target, y_stride, scratch);
      } else if (left == 2) {
        run_block<Format, 2, kMaxOutputs>(weight, first, x_stride, left, begin, end, target, y_stride, scratch);
      } else {
        constexpr uint32_t kOutputs = Simd::kFloatAccumulators / kMaxRows;
        run_block<Format, kMaxRows, kOutputs>(weight, first, x_stride, left, begin, end, target, y_stride, scratch);
      }
    }
  }
};

}  // namespace
}  // namespace markbase::cpu
