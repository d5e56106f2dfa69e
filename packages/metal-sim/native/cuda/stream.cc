#include "stream.h"

namespace cuda_sim {

Stream::Stream() : thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::push(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Stream::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_running_; });
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    is_running_ = true;
    lock.unlock();
    const Result result = work();
    Result good = kSuccess;
    if (result != kSuccess) state().failure.compare_exchange_strong(good, result);
    lock.lock();
    is_running_ = false;
    changed_.notify_all();
  }
}

void Event::record(const std::shared_ptr<Event>& self, Stream& stream) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++recorded_;
  }
  stream.push([self, number] {
    self->reach(number);
    return kSuccess;
  });
}

void Event::reach(uint64_t number) {
  const std::lock_guard lock(mutex_);
  reached_ = number;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Event::wait() {
  std::unique_lock lock(mutex_);
  const uint64_t number = recorded_;
  changed_.wait(lock, [&] { return reached_ >= number; });
}

bool Event::is_done() {
  const std::lock_guard lock(mutex_);
  return reached_ == recorded_ && recorded_ > 0;
}

double Event::milliseconds_since(Event& begin) { return std::chrono::duration<double, std::milli>(time_ - begin.time_).count(); }

}  // namespace cuda_sim
