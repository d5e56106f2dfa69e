/**
 * conv2d: a 3 x 3 convolution of stride 2 over time and frequency, [rows, times, frequencies, in] to
 * [rows, times / 2, frequencies / 2, out].
 *
 * One item is one time step of the result. Vectors hold channels of the result; several frequencies share the loaded weights. The sum for
 * one element always runs over time tap, frequency tap and channel in this order, whichever frequencies are computed together.
 */
#include "conv2d_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows_before.h"
#include "simd.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

constexpr uint32_t kTaps = 3;

/** Frequencies whose sums are in registers together, with kVectors vectors of channels each. */
#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr uint32_t kSideBySide = 8;
#else
constexpr uint32_t kSideBySide = 4;
#endif
constexpr uint32_t kVectors = 2;

/** The time steps of x under the three taps, [frequencies][in]; null = zeros. */
struct Window {
  const float* time[kTaps];
};

/** Frequency taps inside x. */
struct TapRange {
  uint32_t begin;
  uint32_t end;
};

Window window_of(const CpuCall& call, uint32_t row, uint32_t step) {
  const auto& p = params_of<Conv2dParams>(call);
  const size_t step_width = size_t{p.frequencies} * p.in_channels;
  Window window{};
  for (uint32_t i = 0; i < kTaps; ++i) {
    size_t from = row;
    uint32_t time = 2 * step + i;  // 1 + the time under the tap
    if (time == 0) {
      if (rows_before(*call.step, row) == 0) continue;
      from = row - 1;
      time = p.times;
    }
    --time;
    if (buffer<const float>(call, 1)[from * p.mask_stride + time * p.mask_step] == 0) continue;
    window.time[i] = buffer<const float>(call, 0) + from * p.x_stride + time * step_width;
  }
  return window;
}

/** Channels [channel, channel + vectors * kLanes) at `frequencies` results from `first` on. `count`: lanes of the last vector. */
template <uint32_t frequencies, uint32_t vectors>
inline void convolve(const Conv2dParams& p,
                     const Window& window,
                     TapRange taps,
                     const float* kernel,
                     uint32_t first,
                     uint32_t channel,
                     uint32_t count,
                     float* y) {
  F32 total[frequencies][vectors] = {};
  for (uint32_t i = 0; i < kTaps; ++i) {
    if (window.time[i] == nullptr) continue;
    for (uint32_t j = taps.begin; j < taps.end; ++j) {
      const float* x = window.time[i] + (size_t{2} * first + j - 1) * p.in_channels;
      const float* weight = kernel + size_t{i * kTaps + j} * p.in_channels * p.out_channels + channel;
      for (uint32_t c = 0; c < p.in_channels; ++c, weight += p.out_channels) {
        F32 w[vectors];
        for (uint32_t v = 0; v < vectors; ++v) w[v] = load(weight + v * kLanes, v + 1 < vectors ? kLanes : count);
        for (uint32_t f = 0; f < frequencies; ++f) {
          const F32 value = splat(x[size_t{2} * f * p.in_channels + c]);
          for (uint32_t v = 0; v < vectors; ++v) total[f][v] = fma(value, w[v], total[f][v]);
        }
      }
    }
  }
  for (uint32_t f = 0; f < frequencies; ++f) {
    float* to = y + size_t{first + f} * p.out_channels + channel;
    for (uint32_t v = 0; v < vectors; ++v) store(to + v * kLanes, total[f][v], v + 1 < vectors ? kLanes : count);
  }
}

/** All channels at `frequencies` results from `first` on. */
template <uint32_t frequencies>
inline void all_channels(const Conv2dParams& p, const Window& window, TapRange taps, const float* kernel, uint32_t first, float* y) {
  uint32_t channel = 0;
  for (; channel + kVectors * kLanes <= p.out_channels; channel += kVectors * kLanes) {
    convolve<frequencies, kVectors>(p, window, taps, kernel, first, channel, kLanes, y);
  }
  for (; channel < p.out_channels; channel += kLanes) {
    convolve<frequencies, 1>(p, window, taps, kernel, first, channel, smaller(p.out_channels - channel, kLanes), y);
  }
}

void one_step(const Conv2dParams& p, const Window& window, const float* kernel, float* y) {
  const uint32_t count = (p.frequencies + 1) / 2;
  const TapRange inside = {0, kTaps};
  // The first result lacks the tap below frequency 0; with an odd number of frequencies, the last one lacks the tap above the highest.
  const uint32_t highest = p.frequencies % 2 == 0 ? count : count - 1;
  const TapRange lowest = {1, highest == 0 ? 2 : kTaps};
  all_channels<1>(p, window, lowest, kernel, 0, y);
  uint32_t f = 1;
  for (; f + kSideBySide <= highest; f += kSideBySide) all_channels<kSideBySide>(p, window, inside, kernel, f, y);
  for (; f + 2 <= highest; f += 2) all_channels<2>(p, window, inside, kernel, f, y);
  for (; f < highest; ++f) all_channels<1>(p, window, inside, kernel, f, y);
  if (f < count) all_channels<1>(p, window, {0, 2}, kernel, f, y);
}

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kAllRows] * (params_of<Conv2dParams>(call).times / 2); }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<Conv2dParams>(call);
  const uint32_t steps = p.times / 2;
  const size_t step_width = size_t{(p.frequencies + 1) / 2} * p.out_channels;
  for (uint32_t item = begin; item < end; ++item) {
    const uint32_t row = item / steps, step = item % steps;
    one_step(p, window_of(call, row, step), buffer<const float>(call, 2),
             buffer<float>(call, 3) + size_t{row} * p.y_stride + step * step_width);
  }
}

}  // namespace

const CpuKernel kConv2d = {"conv2d", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
