#include "matmul_peak.h"

#include <algorithm>
#include <atomic>
#include <ctime>

#include "linear_core.h"
#include "processor.h"
#include "thread_pool.h"

namespace markbase::cpu {

namespace {

constexpr int kPasses = 5;
constexpr double kPassSeconds = 0.05;

PeakLoops loops_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2: return kAvx2Peak;
    case Isa::kAvx512: return kAvx512Peak;
    case Isa::kAvx512Bf16: return {kAvx512Peak.float32, kAvx512Bf16Peak.bfloat16, kAvx512Peak.int8};
#endif
    default: return kGenericPeak;
  }
}

struct Work {
  PeakLoop loop;
  uint64_t rounds;
  std::atomic<double> rate{0};     ///< operations per second of processor time, added over the threads
  std::atomic<double> seconds{0};  ///< processor time of thread 0
};

/** Processor time of the calling thread in seconds, which excludes other programs. */
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/** Operations per second on all threads of the pool: the best of several passes, because other programs can only slow one down. */
double rate(ThreadPool& pool, PeakLoop loop) {
  if (loop == nullptr) return 0;
  double best = 0;
  uint64_t rounds = uint64_t{1} << 16;
  for (int pass = 0; pass <= kPasses; ++pass) {
    Work work{loop, rounds, {}, {}};
    pool.run(
        [](void* context, uint32_t thread) {
          auto* shared = static_cast<Work*>(context);
          const double start = processor_seconds();
          const auto operations = static_cast<double>(shared->loop(shared->rounds));
          const double seconds = processor_seconds() - start;
          double sum = shared->rate.load();
          while (!shared->rate.compare_exchange_weak(sum, sum + operations / seconds)) continue;
          if (thread == 0) shared->seconds = seconds;
        },
        &work);
    // The first pass only determines how long a pass has to be.
    if (pass > 0) {
      best = std::max(best, work.rate.load());
    } else {
      rounds = std::max(rounds, static_cast<uint64_t>(static_cast<double>(rounds) * kPassSeconds / work.seconds.load()));
    }
  }
  return best;
}

}  // namespace

Status measure_matmul_peak(uint32_t threads, MatmulPeak* peak) {
  ThreadPool pool(threads);
  const PeakLoops loops = loops_of(detect_isa());
  *peak = {rate(pool, loops.float32), rate(pool, loops.bfloat16), rate(pool, loops.int8)};
  return Status::good();
}

}  // namespace markbase::cpu
