#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

#include "status.h"

namespace markbase::gpu {

/** Whether a device accepts steps, and how many are running. */
class StepGate {
 public:
  /** `kind`: of the device, for errors. */
  explicit StepGate(std::string kind) : kind_(std::move(kind)) {}

  /** A step begins: kDevice once the GPU was lost, kCancelled once the device was shut down. */
  Status begin();
  /** A step has ended. */
  void end();
  /** Rejects further steps, and waits until the running ones have ended. */
  void shut_down();
  bool is_shut_down() const { return is_shut_down_.load(std::memory_order_relaxed); }
  /** The GPU was lost: all further steps fail. */
  void lose() { is_lost_.store(true); }
  bool is_lost() const { return is_lost_.load(); }

 private:
  const std::string kind_;
  std::atomic<bool> is_shut_down_{false};
  std::atomic<bool> is_lost_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t steps_ = 0;
};

}  // namespace markbase::gpu
