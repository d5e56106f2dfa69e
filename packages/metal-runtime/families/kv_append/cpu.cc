/**
 * kv_append: keys and values of a row go to its position's place in the cache, [G][K], rounded to the cache's type.
 * One item is one row.
 */
#include "kv_append_params.h"

#include "cache_table.h"
#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<KvAppendParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<KvAppendParams>(call);
  const uint32_t width = p.kv_heads * p.width;
  for (size_t row = begin; row < end; ++row) {
    const auto position = static_cast<uint32_t>(call.step->position[p.row_set][row]);
    const size_t index = cache_table(*call.step, p.row_set, row, p.cache_kind).place(position) * width;
    cache_row(buffer<const float>(call, 0) + row * p.k_stride, width, p.cache_type, buffer<void>(call, 2), index);
    cache_row(buffer<const float>(call, 1) + row * p.v_stride, width, p.cache_type, buffer<void>(call, 3), index);
  }
}

}  // namespace

const CpuKernel kKvAppend = {"kv_append", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
