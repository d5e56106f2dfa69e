// Speed of the matrix products compared with the read bandwidth and the integer dot product peak of this machine.
//   linear_core_bench [threads [isa [seconds per figure [d|b|p|h...]]]]
// d: decode, f: small floats beside affine codes, b: a few rows, c: a few rows with the weights in the cache, p: prefill, h: `high`.
// Decode figures count the bytes of weights, scales and biases once per call; the weights cycle through a pool that is
// larger than the last-level cache. "of read" is the fraction of the bandwidth, which was measured alternately with the product.
// Rates are work per second of processor time, added up over the threads, best of several short rounds: other programs
// on the machine disturb them little as long as they leave the memory alone.

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "linear_core.h"

namespace markbase::bench {
namespace {

using namespace markbase::cpu;

/** As in src/recorded-program.ts. */
constexpr uint32_t kFewRows = 8;
constexpr size_t kPoolBytes = size_t{640} << 20;

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Options {
  uint32_t threads = 2;
  double seconds = 0.3;
};

/** Runs work(thread) on all threads at once; the sum over the threads of 1 / (its seconds of processor time). */
template <class Work>
double rate_on_threads(uint32_t threads, Work work) {
  std::vector<double> rates(threads);
  const auto timed = [&](uint32_t t) {
    const double start = thread_seconds();
    work(t);
    rates[t] = 1 / (thread_seconds() - start + 1e-9);
  };
  std::vector<std::thread> pool;
  for (uint32_t t = 1; t < threads; ++t) pool.emplace_back(timed, t);
  timed(0);
  for (std::thread& thread : pool) thread.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

/** Bytes per second of a plain sum over a part of the pool. */
double read_bandwidth(const std::vector<uint64_t>& pool, const Options& options, size_t touched) {
  std::atomic<uint64_t> sink{0};
  const size_t slice = size_t{1} << 18;  // words per thread
  // Half a pool away from the last reads of the product.
  const size_t first = (touched + pool.size() / 2) % (pool.size() - slice * options.threads);
  const double rate = rate_on_threads(options.threads, [&](uint32_t t) {
    const uint64_t* data = pool.data() + first / 32 * 32 + t * slice;
    uint64_t sums[32] = {};
    for (size_t i = 0; i + 32 <= slice; i += 32) {
      for (int line = 0; line < 4; ++line) __builtin_prefetch(data + i + 512 + 8 * line);
      for (int j = 0; j < 32; ++j) sums[j] += data[i + j];
    }
    for (const uint64_t sum : sums) sink += sum;
  });
  if (sink == 1) printf(" ");
  return rate * static_cast<double>(slice) * 8;
}

struct Matrix {
  WeightView view;
  size_t bytes;     ///< weights, scales and biases
  uint32_t copies;  ///< consecutive matrices in the pool
};

Matrix matrix(std::vector<uint64_t>& pool, WeightFormat format, uint32_t bits, uint32_t group, uint32_t out, uint32_t in) {
  auto* base = reinterpret_cast<uint8_t*>(pool.data());
  const bool is_affine = format == kWeightAffine;
  const size_t weight_bytes = is_quantized(format) ? size_t{out} * in * bits / 8 : size_t{out} * in * (format == kWeightF32 ? 4 : 2);
  const size_t scale_bytes = is_quantized(format) ? size_t{out} * (in / group) * (is_affine ? 2 : 1) : 0;
  const size_t bytes = weight_bytes + (is_affine ? 2 : 1) * scale_bytes;
  // Scales whose products are neither infinite nor subnormal, as bytes and as bf16.
  for (size_t at = weight_bytes; format > kWeightAffine && at + scale_bytes <= kPoolBytes; at += bytes)
    memset(base + at, 0x3f, scale_bytes);
  return {{format, bits, group, kScalarBf16, out, in, base, base + weight_bytes, base + weight_bytes + scale_bytes},
          bytes,
          static_cast<uint32_t>(kPoolBytes / bytes)};
}

WeightView copy_of(const Matrix& m, uint32_t index) {
  const size_t offset = m.bytes * (index % m.copies);
  WeightView view = m.view;
  view.weight = static_cast<const uint8_t*>(view.weight) + offset;
  view.scales = static_cast<const uint8_t*>(view.scales) + offset;
  view.biases = static_cast<const uint8_t*>(view.biases) + offset;
  return view;
}

struct Rates {
  double calls;      ///< products per second
  double bandwidth;  ///< bytes per second that a plain read reaches
};

/** Products per second, excluding the preparation of the rows. */
Rates measure(
    const LinearCore& core, const std::vector<uint64_t>& pool, const Matrix& m, bool is_fast, uint32_t rows, const Options& options) {
  const RowForm form = core.row_form(m.view, is_fast, rows <= kFewRows);
  const size_t row_bytes = core.prepared_row_bytes(form, m.view.in);
  const size_t scratch_bytes = (core.scratch_bytes(m.view, form, rows) + 63) / 64 * 64;
  auto* prepared = static_cast<uint8_t*>(std::aligned_alloc(64, rows * row_bytes));
  auto* scratch = static_cast<uint8_t*>(std::aligned_alloc(64, scratch_bytes * options.threads));
  std::vector<float> x(m.view.in), y(size_t{rows} * m.view.out);
  for (uint32_t k = 0; k < m.view.in; ++k) x[k] = static_cast<float>(static_cast<int>(k * 2654435761u >> 24) - 128);
  for (uint32_t r = 0; r < rows; ++r) core.prepare_row(form, m.view.in, x.data(), prepared + r * row_bytes);

  // Each thread works through its share of the outputs of one matrix after another without waiting for the others.
  const uint32_t part = (m.view.out / options.threads + 31) / 32 * 32;
  uint32_t first = 0;
  const auto calls = [&](uint32_t count) {
    const double rate = rate_on_threads(options.threads, [&](uint32_t t) {
      const uint32_t begin = t * part < m.view.out ? t * part : m.view.out;
      const uint32_t end = t + 1 == options.threads || begin + part > m.view.out ? m.view.out : begin + part;
      for (uint32_t i = 0; i < count; ++i) {
        core.multiply(copy_of(m, first + i), form, prepared, rows, begin, end, y.data() + begin, m.view.out, scratch + t * scratch_bytes);
      }
    });
    first += count;
    return rate * count / options.threads;  // every thread computed its share of each product
  };
  const double once = 1 / calls(1);
  constexpr int kRounds = 60;
  const auto count = static_cast<uint32_t>(options.seconds / kRounds / once) + 1;
  Rates best = {0, 0};
  for (int round = 0; round < kRounds; ++round) {
    if (rows <= 8) best.bandwidth = std::max(best.bandwidth, read_bandwidth(pool, options, m.bytes * (first % m.copies) / 8));
    best.calls = std::max(best.calls, calls(count));
  }
  std::free(prepared);
  std::free(scratch);
  return best;
}

void report(const LinearCore& core, std::vector<uint64_t>& pool, const Options& options, const Matrix& m, bool is_fast, uint32_t rows) {
  const Rates rates = measure(core, pool, m, is_fast, rows, options);
  const char* plain[] = {"f32", "bf16", "f16"};
  char format[32];
  const char* small[] = {"mxfp4", "mxfp8", "nvfp4"};
  if (m.view.format > kWeightAffine) {
    snprintf(format, sizeof format, "%s", small[m.view.format - kWeightMxfp4]);
  } else if (m.view.format == kWeightAffine) {
    snprintf(format, sizeof format, "q%u g%u", m.view.bits, m.view.group);
  } else {
    snprintf(format, sizeof format, "%s", plain[m.view.format]);
  }
  const double products = static_cast<double>(m.view.out) * m.view.in * rows;
  printf("%-4s %-8s [%6u, %5u] rows %3u  %7.1f GMAC/s", is_fast ? "fast" : "high", format, m.view.out, m.view.in, rows,
         products * rates.calls * 1e-9);
  if (rows <= 8) {
    const double rate = static_cast<double>(m.bytes) * rates.calls;
    printf("  %6.1f GB/s  %4.2f of read %.1f", rate * 1e-9, rate / rates.bandwidth, rates.bandwidth * 1e-9);
  }
  printf("\n");
  fflush(stdout);
}

int run(const LinearCore& core, const Options& options, const char* only) {
  std::vector<uint64_t> pool(kPoolBytes / 8);
  uint64_t state = 88172645463325252u;
  // Random bits whose 16-bit halves are also small bf16 numbers: exponents near one.
  for (uint64_t& word : pool) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    word = (state & 0x87ff87ff87ff87ffu) | 0x3800380038003800u;
  }
  printf("%s, %u threads\n", core.isa, options.threads);
  const auto affine = [&](uint32_t bits, uint32_t group, uint32_t out, uint32_t in) {
    return matrix(pool, kWeightAffine, bits, group, out, in);
  };
  const auto report_small = [&](uint32_t out, uint32_t in, bool is_fast, uint32_t rows) {
    report(core, pool, options, affine(4, 64, out, in), is_fast, rows);
    report(core, pool, options, matrix(pool, kWeightMxfp4, 4, 32, out, in), is_fast, rows);
    report(core, pool, options, matrix(pool, kWeightNvfp4, 4, 16, out, in), is_fast, rows);
    report(core, pool, options, affine(8, 32, out, in), is_fast, rows);
    report(core, pool, options, matrix(pool, kWeightMxfp8, 8, 32, out, in), is_fast, rows);
  };
  if (strstr(only, "f")) {
    for (const uint32_t rows : {1u, 4u, 128u}) report_small(6144, 1536, true, rows);
    report_small(6144, 1536, false, 1);
  }
  if (strstr(only, "d")) {
    for (const uint32_t bits : {4u, 8u}) report(core, pool, options, affine(bits, 64, 12288, 1536), true, 1);
    if (!strstr(only, "q"))
      for (const uint32_t bits : {2u, 3u, 5u, 6u}) report(core, pool, options, affine(bits, 64, 12288, 1536), true, 1);
    for (const uint32_t group : {32u, 128u}) report(core, pool, options, affine(4, group, 12288, 1536), true, 1);
    for (const uint32_t group : {32u, 128u}) report(core, pool, options, affine(8, group, 12288, 1536), true, 1);
    report(core, pool, options, affine(4, 64, 1536, 12288), true, 1);
    report(core, pool, options, affine(4, 64, 2048, 1536), true, 1);
    report(core, pool, options, affine(4, 64, 1536, 256), true, 1);
    report(core, pool, options, matrix(pool, kWeightBf16, 0, 0, 6144, 1536), true, 1);
  }
  if (strstr(only, "b")) {
    for (const uint32_t rows : {2u, 3u, 4u, 5u, 6u, 8u}) report(core, pool, options, affine(4, 64, 12288, 1536), true, rows);
    for (const uint32_t rows : {2u, 4u, 8u}) report(core, pool, options, affine(8, 64, 12288, 1536), true, rows);
    for (const uint32_t rows : {2u, 4u, 8u}) report(core, pool, options, matrix(pool, kWeightBf16, 0, 0, 6144, 1536), true, rows);
  }
  if (strstr(only, "p")) {
    for (const uint32_t rows : {16u, 64u, 512u}) report(core, pool, options, affine(4, 64, 6144, 1536), true, rows);
    for (const uint32_t bits : {3u, 8u}) report(core, pool, options, affine(bits, 64, 6144, 1536), true, 128);
    for (const uint32_t group : {32u, 128u}) report(core, pool, options, affine(4, group, 6144, 1536), true, 128);
    report(core, pool, options, affine(4, 64, 1536, 6144), true, 128);
    report(core, pool, options, matrix(pool, kWeightBf16, 0, 0, 6144, 1536), true, 128);
  }
  if (strstr(only, "c")) {
    for (const uint32_t bits : {4u, 8u, 3u}) {
      Matrix cached = affine(bits, 64, 512, 1536);
      cached.copies = 1;
      for (const uint32_t rows : {1u, 2u, 4u}) report(core, pool, options, cached, true, rows);
    }
  }
  if (strstr(only, "h")) {
    for (const uint32_t bits : {4u, 8u, 6u}) {
      for (const uint32_t rows : {1u, 4u, 64u}) report(core, pool, options, affine(bits, 64, 6144, 1536), false, rows);
    }
  }
  return 0;
}

}  // namespace
}  // namespace markbase::bench

int main(int argc, char** argv) {
  using namespace markbase;
  bench::Options options;
  cpu::Isa isa = cpu::detect_isa();
  if (argc > 1) options.threads = static_cast<uint32_t>(atoi(argv[1]));
  if (argc > 2) {
    for (const cpu::Isa candidate :
         {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAvx512Bf16, cpu::Isa::kNeonDotprod, cpu::Isa::kNeonI8mm}) {
      if (strcmp(argv[2], cpu::isa_name(candidate)) == 0 && cpu::isa_supported(candidate)) isa = candidate;
    }
  }
  if (argc > 3) options.seconds = atof(argv[3]);
  if (options.threads == 0) options.threads = 1;
  return bench::run(cpu::linear_core(isa), options, argc > 4 ? argv[4] : "dbph");
}
