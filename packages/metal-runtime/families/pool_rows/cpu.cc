/**
 * pool_rows, [T, width] to [N, width]: y[n] = scale * (x[output_row[n]] + ... + x[output_row[n] + count - 1]), float32, the
 * rows in ascending order. One item is one row of y.
 */
#include "pool_rows_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kOutputRows]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<PoolRowsParams>(call);
  const F32 scale = splat(p.scale);
  for (size_t row = begin; row < end; ++row) {
    const auto first = static_cast<uint32_t>(call.step->output_row[row]);
    const uint32_t count = smaller(p.count, call.step->rows[kAllRows] - first);
    const float* x = buffer<const float>(call, 0) + size_t{first} * p.x_stride;
    float* y = buffer<float>(call, 1) + row * p.y_stride;
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) {
      F32 total = {};
      for (size_t r = 0; r < count; ++r) total += load(x + r * p.x_stride + i, n);
      store(y + i, total * scale, n);
    });
  }
}

}  // namespace

const CpuKernel kPoolRows = {"pool_rows", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
