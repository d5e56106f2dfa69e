/**
 * conv2d: a 3 x 3 convolution of stride 2 over time and frequency, [rows, times, frequencies, in] to
 * [rows, times / 2, frequencies / 2, out]. One thread per element of the result: adjacent threads share the frequency and take adjacent
 * channels, whose weights are contiguous. Sums run over time tap, frequency tap and channel in this order.
 */
#include <metal_stdlib>
using namespace metal;

#include "conv2d_params.h"
#include "launch.h"

kernel void conv2d(constant Conv2dParams& p [[buffer(0)]],
                   constant Launch& launch [[buffer(1)]],
                   device const float* x [[buffer(2)]],
                   device const float* mask [[buffer(3)]],
                   device const float* weights [[buffer(4)]],
                   device float* y [[buffer(5)]],
                   device const int* position [[buffer(24)]],
                   uint3 at [[thread_position_in_grid]]) {
  const uint width = (p.frequencies + 1) / 2 * p.out_channels;
  if (at.x >= width || at.z >= launch.rows) return;
  const uint row = at.z, step = at.y;
  const uint channel = at.x % p.out_channels, frequency = at.x / p.out_channels;
  const ulong step_width = ulong(p.frequencies) * p.in_channels;
  float total = 0.0f;
  for (uint i = 0; i < 3; ++i) {
    ulong from = row;
    uint time = 2 * step + i;  // 1 + the time under the tap
    if (time == 0) {
      if (position[row] == 0 || row == 0) continue;
      from = row - 1;
      time = p.times;
    }
    --time;
    if (mask[from * p.mask_stride + time * p.mask_step] == 0.0f) continue;
    for (uint j = 0; j < 3; ++j) {
      const uint place = 2 * frequency + j;  // 1 + the frequency under the tap
      if (place == 0 || place > p.frequencies) continue;
      device const float* values = x + from * p.x_stride + time * step_width + (place - 1) * p.in_channels;
      device const float* weight = weights + ulong(i * 3 + j) * p.in_channels * p.out_channels + channel;
      for (uint c = 0; c < p.in_channels; ++c) total = fma(values[c], weight[ulong(c) * p.out_channels], total);
    }
  }
  y[ulong(row) * p.y_stride + ulong(step) * width + at.x] = total;
}
