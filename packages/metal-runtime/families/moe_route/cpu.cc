/**
 * moe_route: chooses the top_k experts of every row by its logits, with shares = softmax * scale per expert.
 *
 * One item is one row. Float32, in the order of the experts and of the list.
 */
#include "moe_route_params.h"

#include "call.h"
#include "cpu_rows.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<MoeRouteParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<MoeRouteParams>(call);
  for (size_t row = begin; row < end; ++row) {
    route_row(p, buffer<const float>(call, 0) + row * p.logits_stride, buffer<const void>(call, 1),
              buffer<float>(call, 2) + row * p.experts_stride, buffer<float>(call, 3) + row * p.shares_stride);
  }
}

}  // namespace

const CpuKernel kMoeRoute = {"moe_route", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
