#pragma once

#include <atomic>
#include <string>

#include "../ordered_failures.h"
#include "control.h"

namespace cuda_sim {

using Result = int;

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101,
                        kInvalidContext = 201, kEcc = 214, kInvalidPtx = 218, kOldPtx = 222, kInvalidHandle = 400, kNotFound = 500,
                        kNotReady = 600, kIllegalAddress = 700, kLaunchTimeout = 702, kLaunchFailed = 719, kUnknown = 999;

/** Requested failures, counts and the context of the whole process. */
struct State {
  std::atomic<uint64_t> launches{0}, graph_launches{0}, graphs{0}, copies_to_device{0}, copies_to_host{0}, copied_bytes{0};
  std::atomic<uint64_t> allocations{0}, modules{0}, misuses{0}, live_objects{0}, allocated_bytes{0};
  std::atomic<bool> is_initialized{false};
  std::atomic<int> context_users{0};
  /** Why the context has failed, or kSuccess. */
  std::atomic<Result> failure{kSuccess};

  OrderedFailures<kCudaSimFailureKinds> failures;

  /** True if this event of the kind is to fail. */
  bool takes_failure(CudaSimFailure kind) { return failures.take(kind); }
  void reset();
  void reset_counts();
};

State& state();

/** A number from an environment variable. */
uint64_t setting(const char* name, uint64_t otherwise);

/** Records a mistake of the caller, which a real driver may not notice. */
Result misuse(Result result, const std::string& message);

/** The current context of this thread; an error if there is none or it has failed. */
Result check_context();
void push_context(void* context);
Result pop_context(void** context);

}  // namespace cuda_sim
