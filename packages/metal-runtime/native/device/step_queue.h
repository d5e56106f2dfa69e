#pragma once

#include <functional>
#include <memory>

namespace markbase {

/** Runs the steps of a device in the order in which they were queued, on its own thread. */
class StepQueue {
 public:
  using Job = std::function<void()>;

  /** Throws std::system_error if no thread can be started. */
  StepQueue();
  /** Runs all queued jobs first; may be called on the queue's own thread, by the last owner of its device. */
  ~StepQueue();
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  /** Queues a job and returns; a job must not throw. */
  void push(Job job);
  /** Waits until nothing is queued or running. */
  void wait_until_idle();

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  ///< shared with the thread, which may end after this
};

}  // namespace markbase
