/** gather_rows: y[n] = x[output_row[n]], [T, width] to [N, width]. One item is one row. */
#include "gather_rows_params.h"

#include "call.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kOutputRows]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<GatherRowsParams>(call);
  for (size_t row = begin; row < end; ++row) {
    const float* x = buffer<const float>(call, 0) + static_cast<size_t>(call.step->output_row[row]) * p.x_stride;
    __builtin_memcpy(buffer<float>(call, 1) + row * p.y_stride, x, p.width * sizeof(float));
  }
}

}  // namespace

const CpuKernel kGatherRows = {"gather_rows", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
