/**
 * causal_conv: y[r][c] = sum_j kernel[j][c] * x[r - taps + 1 + j][c] over the rows of a slot, [rows, width]. One item is one
 * row.
 */
#include "causal_conv_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows_before.h"
#include "simd.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kAllRows]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<CausalConvParams>(call);
  const float* kernel = buffer<const float>(call, 1);
  for (uint32_t row = begin; row < end; ++row) {
    const uint32_t taps = smaller(p.taps, rows_before(*call.step, row) + 1);
    const float* x = buffer<const float>(call, 0) + size_t{row - (taps - 1)} * p.x_stride;
    const float* weights = kernel + size_t{p.taps - taps} * p.width;
    float* y = buffer<float>(call, 2) + size_t{row} * p.y_stride;
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) {
      F32 total = {};
      for (size_t j = 0; j < taps; ++j) total = fma(load(weights + j * p.width + i, n), load(x + j * p.x_stride + i, n), total);
      store(y + i, total, n);
    });
  }
}

}  // namespace

const CpuKernel kCausalConv = {"causal_conv", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
