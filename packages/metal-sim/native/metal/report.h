#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../msl/dispatch.h"

namespace metal_sim {

/** A dispatch that was executed. */
struct ReportedDispatch {
  std::string kernel;
  unsigned groups[3];
  unsigned threads;                       ///< a threadgroup
  bool has_barrier;                       ///< a barrier was encoded since the dispatch before
  std::vector<msl::ArgumentLoads> loads;  ///< with METAL_SIM_CHECK=1
};

/** Bytes that were read of the buffers with one label, which no dispatch of the command buffer writes: each once a dispatch. */
struct ReportedReads {
  std::string buffer;
  uint64_t bytes;
};

/** What a command buffer did. */
struct CommandBufferReport {
  std::string label;
  unsigned encoders = 0;
  unsigned barriers = 0;
  unsigned waits = 0;  ///< 1 for completed handlers, and calls of waitUntilCompleted that came before the end
  std::vector<ReportedDispatch> dispatches;
  std::vector<ReportedReads> reads;  ///< with METAL_SIM_CHECK=1

  void add_reads(const std::string& buffer, uint64_t bytes);
};

/** Appends one line of JSON to the file that METAL_SIM_REPORT names; without it, nothing happens. */
void write_report(const CommandBufferReport& report);

}  // namespace metal_sim
