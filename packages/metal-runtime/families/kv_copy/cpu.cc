/**
 * kv_copy: cache[slot][position % capacity] = cache[source][position % capacity], keys and values, unchanged.
 * One item is one row.
 */
#include "kv_copy_params.h"

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
    const auto slot = static_cast<size_t>(call.step->slot[p.row_set][row]);
    if (!(source >= 0 && source < static_cast<float>(p.slots)) || static_cast<size_t>(source) == slot) continue;
    const size_t index = static_cast<size_t>(call.step->position[p.row_set][row]) % p.capacity;
    const size_t from = (static_cast<size_t>(source) * p.capacity + index) * bytes;
    const size_t to = (slot * p.capacity + index) * bytes;
    for (uint32_t binding = 1; binding <= 2; ++binding) {
      auto* cache = buffer<unsigned char>(call, binding);
      __builtin_memcpy(cache + to, cache + from, bytes);
    }
  }
}

}  // namespace

const CpuKernel kKvCopy = {"kv_copy", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
