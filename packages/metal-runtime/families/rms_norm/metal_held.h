#pragma once

/**
 * A vector that is normalised in the registers of a threadgroup, on NVIDIA GPUs. The including file has metal_stdlib,
 * rms_norm_params.h, metal_storage.h and metal_math.h.
 */

#pragma METAL fp contract(off)

#if defined(MARKBASE_NVIDIA)
/** Maximum number of elements per thread, and number of its loads in flight. */
constant constexpr uint kHeld = 16;
constant constexpr uint kTogether = 8;

/** A thread's part of a vector: elements first, first + step, .... All loads are issued before the first sum. */
struct HeldElements {
  float values[kHeld], residuals[kHeld];
  ScalarBits gains[kHeld];

  void load_gains(constant RmsNormParams& p, device const uchar* gain, uint first, uint step) {
#pragma unroll
    for (uint begin = 0; begin < kHeld; begin += kTogether) {
      if (begin * step >= p.width) continue;
#pragma unroll
      for (uint k = begin; k < begin + kTogether; ++k) gains[k].load(gain, p.gain_type, min(first + k * step, p.width - 1));
    }
  }

  void load(constant RmsNormParams& p, device const float* x, uint first, uint step) { load_into(values, p.width, x, first, step); }

  void load_residuals(constant RmsNormParams& p, device const float* residual, uint first, uint step) {
    if (p.has_residual != 0) load_into(residuals, p.width, residual, first, step);
  }

  static void load_into(thread float (&to)[kHeld], uint width, device const float* from, uint first, uint step) {
#pragma unroll
    for (uint begin = 0; begin < kHeld; begin += kTogether) {
      if (begin * step >= width) continue;
#pragma unroll
      for (uint k = begin; k < begin + kTogether; ++k) to[k] = from[min(first + k * step, width - 1)];
    }
  }

  float squares(uint width, uint first, uint step) const {
    float sum = 0.0f;
#pragma unroll
    for (uint k = 0; k < kHeld; ++k) {
      if (k % kTogether == 0 && k * step >= width) break;
      sum = first + k * step < width ? fma(values[k], values[k], sum) : sum;
    }
    return sum;
  }

  /** Element `k` of the thread, normalised. */
  float normed(constant RmsNormParams& p, float factor, uint k) const {
    const float value = values[k] * factor;
    return p.has_gain != 0 ? value * gains[k].number(p.gain_type) : value;
  }

  void store(constant RmsNormParams& p, float factor, device float* y, uint first, uint step) const {
#pragma unroll
    for (uint k = 0; k < kHeld; ++k) {
      const uint i = first + k * step;
      if (i >= p.width) break;
      float value = normed(p, factor, k);
      if (p.has_residual != 0) value = (residuals[k] + value) * p.output_scale;
      y[i] = value;
    }
  }
};
#endif
