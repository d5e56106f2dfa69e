#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "../ordered_failures.h"
#include "control.h"

namespace metal_sim {

/** Counts and requested failures of the whole process. */
struct State {
  std::atomic<uint64_t> command_buffers{0}, encoders{0}, dispatches{0}, barriers{0}, waits{0}, threadgroups{0};
  std::atomic<uint64_t> validation_errors{0}, libraries{0}, pipelines{0}, read_bytes{0}, allocated_bytes{0};
  std::atomic<bool> is_lost{false};

  OrderedFailures<kMetalSimFailureKinds> failures;

  /** True if this event of the kind is to fail. */
  bool takes_failure(MetalSimFailure kind) { return failures.take(kind); }
  void reset();
  void reset_counts();

  void add_trace(std::string line);
  std::string trace();
  void set_last_error(const std::string& message);
  std::string last_error();

 private:
  std::mutex mutex_;
  std::vector<std::string> trace_;
  std::string last_error_;
};

State& state();

/**
 * Records a mistake for which Metal's API validation would stop the process. It is counted and written to stderr; the caller fails the
 * command buffer or the requested object. With METAL_SIM_VALIDATION=abort the process ends, as on a Mac.
 */
void report_validation(const std::string& message);

}  // namespace metal_sim
