/**
 * rms_norm: y = x * (mean(x^2) + eps)^(-1/2) * gain, optionally y = (residual + that) * output_scale, [rows, groups, width].
 *
 * One item is one vector of `width` elements. Float32; the sum of squares runs in a fixed order of lanes.
 */
#include "rms_norm_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) {
  const auto& p = params_of<RmsNormParams>(call);
  return call.step->rows[p.row_set] * p.groups;
}

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<RmsNormParams>(call);
  for (uint32_t item = begin; item < end; ++item) {
    const size_t row = item / p.groups, offset = size_t{item % p.groups} * p.width;
    float* y = buffer<float>(call, 3) + row * p.y_stride + offset;
    const float* x = buffer<const float>(call, 0) + row * p.x_stride + offset;
    const void* gain = p.has_gain != 0 ? buffer<const void>(call, 1) : nullptr;
    const float* residual = buffer<const float>(call, 2);
    if (p.has_residual == 0) {
      norm_row(x, p.width, p.eps, gain, p.gain_type, y);
    } else {
      norm_add_row(x, p.width, p.eps, gain, p.gain_type, residual + row * p.residual_stride + offset, p.output_scale, y);
    }
  }
}

}  // namespace

const CpuKernel kRmsNorm = {"rms_norm", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
