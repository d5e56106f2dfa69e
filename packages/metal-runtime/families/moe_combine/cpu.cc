/** moe_combine: y = sum of share_x * x_x over the chosen experts of a row, [rows, top_k * width] to [rows, width]. One item is one row. */
#include "moe_combine_params.h"

#include "call.h"
#include "moe_route/cpu_rows.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<MoeCombineParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<MoeCombineParams>(call);
  for (size_t row = begin; row < end; ++row) {
    const float* x = buffer<const float>(call, 0) + row * p.x_stride;
    const float* shares = buffer<const float>(call, 1) + row * p.shares_stride;
    combine_row(shares, p.top_k, p.width, buffer<float>(call, 2) + row * p.y_stride,
                [&](uint32_t slice) { return x + size_t{slice} * p.width; });
  }
}

}  // namespace

const CpuKernel kMoeCombine = {"moe_combine", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
