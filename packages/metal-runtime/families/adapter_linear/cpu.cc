/** adapter_linear: y = base + M_a x with a matrix chosen per row. One item is some columns of y in one row. */
#include "adapter_linear_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** Columns of y in an item. */
constexpr uint32_t kItemColumns = 64;

uint32_t items_per_row(const AdapterLinearParams& p) { return (p.out_width + kItemColumns - 1) / kItemColumns; }

uint32_t items(const CpuCall& call, uint32_t) {
  const auto& p = params_of<AdapterLinearParams>(call);
  return call.step->rows[p.row_set] * items_per_row(p);
}

float product(const float* x, const float* weight, uint32_t width) {
  F32 total = {};
  for_each_vector(width, [&](uint32_t i, uint32_t n) { total = fma(load(x + i, n), load(weight + i, n), total); });
  return sum(total);
}

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<AdapterLinearParams>(call);
  const uint32_t parts = items_per_row(p);
  for (uint32_t item = begin; item < end; ++item) {
    const size_t row = item / parts;
    const uint32_t first = item % parts * kItemColumns;
    const uint32_t last = smaller(first + kItemColumns, p.out_width);
    const auto adapter = static_cast<uint32_t>(buffer<const float>(call, 1)[row * p.selected_stride]);
    const float* x = buffer<const float>(call, 0) + row * p.x_stride;
    float* y = buffer<float>(call, 4) + row * p.y_stride;
    const bool has_adapter = adapter > 0 && adapter <= p.adapters;
    const float* weights = has_adapter ? buffer<const float>(call, 2) + size_t{adapter - 1} * p.out_width * p.in_width : nullptr;
    for (uint32_t out = first; out < last; ++out) {
      const float total = has_adapter ? product(x, weights + size_t{out} * p.in_width, p.in_width) : 0.0f;
      y[out] = p.has_base != 0 ? buffer<const float>(call, 3)[row * p.base_stride + out] + total : total;
    }
  }
}

}  // namespace

const CpuKernel kAdapterLinear = {"adapter_linear", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
