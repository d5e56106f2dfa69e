/**
 * kv_copy: the keys and values of each row's position, unchanged, from block `source` to the block that the row's table names.
 * One item is one row.
 */
#include "kv_copy_params.h"

#include "cache_table.h"
#include "call.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[params_of<KvCopyParams>(call).row_set]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<KvCopyParams>(call);
  const size_t bytes = size_t{p.width} * (p.cache_type == kScalarF32 ? 4 : 2);
  for (size_t row = begin; row < end; ++row) {
    const float source = buffer<const float>(call, 0)[row * p.source_stride];
    if (!(source >= 0 && source < static_cast<float>(p.blocks))) continue;
    const auto position = static_cast<uint32_t>(call.step->position[p.row_set][row]);
    const size_t from = (static_cast<size_t>(source) * MARKBASE_BLOCK_TOKENS + position % MARKBASE_BLOCK_TOKENS) * bytes;
    const size_t to = cache_table(*call.step, p.row_set, row, p.cache_kind).place(position) * bytes;
    if (from == to) continue;
    for (uint32_t binding = 1; binding <= 2; ++binding) {
      auto* cache = buffer<unsigned char>(call, binding);
      __builtin_memcpy(cache + to, cache + from, bytes);
    }
  }
}

}  // namespace

const CpuKernel kKvCopy = {"kv_copy", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
