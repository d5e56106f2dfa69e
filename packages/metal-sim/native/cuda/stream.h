#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "state.h"

namespace cuda_sim {

/** Runs queued work in order on its own thread: nothing has run yet when a call returns. */
class Stream {
 public:
  using Work = std::function<Result()>;

  Stream();
  /** Runs all queued work first. */
  ~Stream();

  /** Queues work. If it fails, the context fails, and nothing runs any more. */
  void push(Work work);
  void wait_until_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_running_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

/** A point in a stream, shared with the streams that wait for it. */
class Event {
 public:
  explicit Event(bool has_time) : has_time_(has_time) {}

  void record(const std::shared_ptr<Event>& self, Stream& stream);
  void wait();
  bool is_done();
  bool has_time() const { return has_time_; }
  double milliseconds_since(Event& begin);

 private:
  void reach(uint64_t number);

  const bool has_time_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t recorded_ = 0;
  uint64_t reached_ = 0;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace cuda_sim
