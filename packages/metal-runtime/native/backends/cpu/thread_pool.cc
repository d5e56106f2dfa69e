#include "thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace markbase::cpu {

namespace {

/** Iterations of a spin loop before a thread sleeps: about 50 µs, longer than a phase should last. */
constexpr uint32_t kSpinTurns = 4000;

void pause_core() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/** Waits until `value` differs from `seen`: spins, then sleeps in the system. */
template <typename Value>
void wait_until_changed(const std::atomic<Value>& value, Value seen) {
  for (uint32_t turn = 0; turn < kSpinTurns; ++turn) {
    if (value.load(std::memory_order_acquire) != seen) return;
    pause_core();
  }
  while (value.load(std::memory_order_acquire) == seen) value.wait(seen, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) : threads_(threads) {
  try {
    for (uint32_t thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  } catch (...) {
    // Destroying a running std::thread would end the process.
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_.store(true);
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  running_.store(threads_ - 1, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  job(context, 0);
  uint32_t left = running_.load(std::memory_order_acquire);
  while (left != 0) {
    wait_until_changed(running_, left);
    left = running_.load(std::memory_order_acquire);
  }
}

void ThreadPool::work(uint32_t thread) {
  uint64_t seen = 0;
  while (true) {
    for (uint32_t turn = 0; turn < kSpinTurns && generation_.load(std::memory_order_acquire) == seen; ++turn) {
      pause_core();
    }
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      seen = generation_.load(std::memory_order_acquire);
    }
    if (is_stopping_.load()) return;
    job_(context_, thread);
    running_.fetch_sub(1, std::memory_order_acq_rel);
    running_.notify_one();
  }
}

void Barrier::wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  wait_until_changed(generation_, generation);
}

}  // namespace markbase::cpu
