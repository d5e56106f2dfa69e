#pragma once

#include "cache_block.h"
#include "call.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** Where a sequence's positions are in the caches of one kind of layer. The only way for kernels to find one; see cache_block.h. */
struct CacheTable {
  const int32_t* entries;

  /** Row of the cache with `position`. */
  size_t place(uint32_t position) const {
    const int32_t block = entries[position / MARKBASE_BLOCK_TOKENS * MARKBASE_BLOCK_KINDS];
    return static_cast<size_t>(block) * MARKBASE_BLOCK_TOKENS + position % MARKBASE_BLOCK_TOKENS;
  }
};

/** The table of the sequence of a row; `kind`: 0 = full layers, 1 = sliding layers. */
inline CacheTable cache_table(const StepView& step, uint32_t row_set, size_t row, uint32_t kind) {
  return {step.table + step.slot[row_set][row] + kind};
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
