/**
 * layer_norm: y = (x - mean) * (variance + eps)^(-1/2) * gain + bias, [rows, groups, width].
 *
 * One item is one vector of `width` elements. Float32; both sums run in a fixed order of lanes, the variance over the
 * centred values, so that a large mean costs no precision.
 */
#include "layer_norm_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) {
  const auto& p = params_of<LayerNormParams>(call);
  return call.step->rows[p.row_set] * p.groups;
}

float mean_of(const float* x, uint32_t width) {
  F32 total = {};
  for_each_vector(width, [&](uint32_t i, uint32_t n) { total += load(x + i, n); });
  return sum(total) / static_cast<float>(width);
}

/** y = x - mean; returns (mean(y^2) + eps)^(-1/2). */
float centre(const float* x, uint32_t width, float eps, float* y) {
  const F32 mean = splat(mean_of(x, width));
  for_each_vector(width, [&](uint32_t i, uint32_t n) { store(y + i, load(x + i, n) - mean, n); });
  return norm_factor(y, width, eps);
}

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<LayerNormParams>(call);
  for (uint32_t item = begin; item < end; ++item) {
    const size_t row = item / p.groups, offset = size_t{item % p.groups} * p.width;
    float* y = buffer<float>(call, 3) + row * p.y_stride + offset;
    const F32 factor = splat(centre(buffer<const float>(call, 0) + row * p.x_stride + offset, p.width, p.eps, y));
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, load(y + i, n) * factor, n); });
    if (p.has_gain != 0) {
      with_scalar_type(p.gain_type, [&]<ScalarType type>() {
        const void* gain = buffer<const void>(call, 1);
        for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, load(y + i, n) * load_as<type>(gain, i, n), n); });
      });
    }
    if (p.has_bias != 0) {
      with_scalar_type(p.bias_type, [&]<ScalarType type>() {
        const void* bias = buffer<const void>(call, 2);
        for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(y + i, load(y + i, n) + load_as<type>(bias, i, n), n); });
      });
    }
  }
}

}  // namespace

const CpuKernel kLayerNorm = {"layer_norm", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
