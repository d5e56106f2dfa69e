#include "step_gate.h"

namespace markbase::gpu {

Status StepGate::begin() {
  if (is_lost()) return Status::error(StatusCode::kDevice, kind_, "the GPU was lost: open the device again");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_shut_down()) return Status::error(StatusCode::kCancelled, kind_);
  ++steps_;
  return Status::good();
}

void StepGate::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --steps_;
  changed_.notify_all();
}

void StepGate::shut_down() {
  std::unique_lock<std::mutex> lock(mutex_);
  is_shut_down_.store(true);
  changed_.wait(lock, [&] { return steps_ == 0; });
}

}  // namespace markbase::gpu
