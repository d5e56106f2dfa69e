/**
 * rope: rotates the pairs (i, i + width/2) of every head, [rows, heads, width]:
 * y_i = x_i cos_i - x_{i+width/2} sin_i, y_{i+width/2} = x_{i+width/2} cos_i + x_i sin_i, or the same in each of `axes` parts of
 * a head. One item is one row.
 */
#include "rope_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<RopeParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<RopeParams>(call);
  for (size_t row = begin; row < end; ++row) {
    const float* x = buffer<const float>(call, 0) + row * p.x_stride;
    const float* table = buffer<const float>(call, 1) + row * p.width;
    float* y = buffer<float>(call, 2) + row * p.y_stride;
    for (size_t head = 0; head < p.heads; ++head) {
      rope_axes(x + head * p.width, table, p.width, p.axes, y + head * p.width);
    }
  }
}

}  // namespace

const CpuKernel kRope = {"rope", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
