#include "step_queue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace markbase {

struct StepQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool is_running = false;
  bool is_stopping = false;
  std::thread thread;
};

StepQueue::StepQueue() : state_(std::make_shared<State>()) {
  state_->thread = std::thread([state = state_] { work(state); });
}

StepQueue::~StepQueue() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->is_stopping = true;
  }
  state_->changed.notify_all();
  if (state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

void StepQueue::push(Job job) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
  }
  state_->changed.notify_all();
}

void StepQueue::wait_until_idle() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->is_running; });
}

void StepQueue::work(const std::shared_ptr<State>& state) {
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->is_stopping || !state->jobs.empty(); });
    if (state->jobs.empty()) return;
    Job job = std::move(state->jobs.front());
    state->jobs.pop_front();
    state->is_running = true;
    lock.unlock();
    job();
    // The job may hold the last reference to the queue's device: release it before the lock is taken again.
    job = nullptr;
    lock.lock();
    state->is_running = false;
    state->changed.notify_all();
  }
}

}  // namespace markbase
