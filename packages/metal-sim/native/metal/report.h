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
  unsigned threads;                       ///< per threadgroup
  bool has_barrier;                       ///< a barrier was encoded since the previous dispatch
  std::vector<msl::ArgumentLoads> loads;  ///< with METAL_SIM_CHECK=1
};

/** Bytes read from buffers with one label that no dispatch of the command buffer writes; each counts once per dispatch. */
struct ReportedReads {
  std::string buffer;
  uint64_t bytes;
};

/** The work of a command buffer. */
struct CommandBufferReport {
  std::string label;
  unsigned encoders = 0;
  unsigned barriers = 0;
  unsigned waits = 0;  ///< completed handlers count as 1, plus calls of waitUntilCompleted before the end
  std::vector<ReportedDispatch> dispatches;
  std::vector<ReportedReads> reads;  ///< with METAL_SIM_CHECK=1

  void add_reads(const std::string& buffer, uint64_t bytes);
};

/** Appends one line of JSON to the file that METAL_SIM_REPORT names, if it is set. */
void write_report(const CommandBufferReport& report);

}  // namespace metal_sim
