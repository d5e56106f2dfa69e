#pragma once

#include <cstddef>
#include <cstdint>

#include "step.h"

namespace markbase::cpu {

/** One command of a running step, as a kernel sees it. */
struct CpuCall {
  const void* params;    ///< the family's parameter struct
  void* const* buffers;  ///< addresses in binding order; null where an optional binding is absent
  const StepView* step;
  std::byte* scratch;  ///< scratch_bytes(), 64-byte aligned, shared by all threads of the call
  uint32_t threads;    ///< threads that work on the call
};

/**
 * A CPU kernel: one or more phases with a barrier between them, each a number of independent items.
 * Items are handed to threads dynamically, so what an item computes must not depend on who computes it.
 */
struct CpuKernel {
  const char* name;
  uint32_t phases;
  /** Items of a phase for the rows of this step; a phase without items costs nothing. */
  uint32_t (*items)(const CpuCall& call, uint32_t phase);
  /** Does items [begin, end) of a phase. `thread` < call.threads selects thread-private scratch. */
  void (*run)(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread);
  /** Scratch that the call needs when it runs with at most `max_rows` rows of its row set; null = none. */
  size_t (*scratch_bytes)(const void* params, uint32_t max_rows, uint32_t threads);
  /** Called once by every thread that takes items of a phase, before its first: for work that each repeats; null = none. */
  void (*enter)(const CpuCall& call, uint32_t phase, uint32_t thread) = nullptr;
};

}  // namespace markbase::cpu
