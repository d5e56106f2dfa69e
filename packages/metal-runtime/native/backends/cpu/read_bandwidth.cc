#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "cpu_buffer.h"
#include "processor.h"
#include "thread_pool.h"

namespace markbase::cpu {

namespace {

/** Far larger than any last-level cache, so that every pass reads from memory. */
constexpr size_t kProbeBytes = size_t{1} << 30;
constexpr int kPasses = 4;

using Words = uint64_t __attribute__((vector_size(64)));

struct Probe {
  const std::byte* data;
  uint32_t threads;
  std::atomic<uint64_t> sum{0};
};

void sum_part(void* context, uint32_t thread) {
  auto* probe = static_cast<Probe*>(context);
  const size_t part = kProbeBytes / probe->threads / 256 * 256;
  const std::byte* data = probe->data + part * thread;
  Words sums[4] = {};
  for (size_t i = 0; i < part; i += 256) {
    for (int lane = 0; lane < 4; ++lane) {
      Words words;
      std::memcpy(&words, data + i + 64 * lane, sizeof(words));
      sums[lane] += words;
    }
  }
  const Words total = sums[0] + sums[1] + sums[2] + sums[3];
  probe->sum += total[0] + total[1] + total[2] + total[3] + total[4] + total[5] + total[6] + total[7];
}

}  // namespace

Status measure_read_bandwidth(uint32_t threads, double* bytes_per_second) {
  std::shared_ptr<AnonymousBuffer> buffer;
  if (Status status = AnonymousBuffer::create(kProbeBytes, "bandwidth probe", &buffer); !status.ok()) return status;
  std::memset(buffer->data(), 1, kProbeBytes);
  ThreadPool pool(threads);
  Probe probe{buffer->data(), threads, {}};
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(sum_part, &probe);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, kProbeBytes / seconds.count());
  }
  // The sum must be used, or the compiler would drop the reads.
  *bytes_per_second = probe.sum.load() == 0 ? 0 : best;
  return Status::good();
}

}  // namespace markbase::cpu
