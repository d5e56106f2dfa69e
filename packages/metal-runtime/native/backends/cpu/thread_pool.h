#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace markbase::cpu {

/** Threads that run one job at a time together with the thread that asks for it. */
class ThreadPool {
 public:
  /** A job is called once per thread; thread 0 is the caller of `run`. */
  using Job = void (*)(void* context, uint32_t thread);

  /** Throws std::system_error, and leaves no thread running, if a thread cannot be started. */
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t threads() const { return threads_; }

  /** Runs a job on all threads and returns when all are done. One caller at a time. */
  void run(Job job, void* context);

 private:
  void work(uint32_t thread);
  void stop();

  const uint32_t threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint32_t> running_{0};
  std::atomic<bool> is_stopping_{false};
  Job job_ = nullptr;
  void* context_ = nullptr;
};

/** Lets all threads of a job wait for each other between its phases; spins first, because phases are short. */
class Barrier {
 public:
  explicit Barrier(uint32_t threads) : threads_(threads) {}
  void wait();

 private:
  const uint32_t threads_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> generation_{0};
};

}  // namespace markbase::cpu
