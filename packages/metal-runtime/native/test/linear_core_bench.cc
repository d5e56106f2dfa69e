// Speed of the matrix products compared with the read bandwidth and the integer dot product peak of this machine.
//   linear_core_bench [threads [isa [seconds per figure [d|b|p|h...]]]]
// d: decode, f: small floats in turn with affine codes, b: a few rows, c: a few rows with the weights in the cache, p: prefill, h: `high`.
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
#include <memory>
#include <string>
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

/** A product and its prepared rows; call() runs it on the next matrices of the pool. */
class Product {
 public:
  Product(const LinearCore& core, const Matrix& m, bool is_fast, uint32_t rows, const Options& options)
      : core_(core),
        options_(options),
        matrix_(m),
        is_fast_(is_fast),
        rows_(rows),
        form_(core.row_form(m.view, is_fast, rows <= kFewRows)),
        scratch_bytes_((core.scratch_bytes(m.view, form_, rows) + 63) / 64 * 64),
        y_(size_t{rows} * m.view.out) {
    const size_t row_bytes = core.prepared_row_bytes(form_, m.view.in);
    prepared_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, rows * row_bytes)));
    scratch_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, scratch_bytes_ * options.threads)));
    std::vector<float> x(m.view.in);
    for (uint32_t k = 0; k < m.view.in; ++k) x[k] = static_cast<float>(static_cast<int>(k * 2654435761u >> 24) - 128);
    for (uint32_t r = 0; r < rows; ++r) core.prepare_row(form_, m.view.in, x.data(), prepared_.get() + r * row_bytes);
    const double once = 1 / run(1);
    count_ = static_cast<uint32_t>(options.seconds / kRounds / once) + 1;
  }

  static constexpr int kRounds = 60;
  const Matrix& matrix() const { return matrix_; }
  bool is_fast() const { return is_fast_; }
  uint32_t rows() const { return rows_; }
  double macs() const { return static_cast<double>(matrix_.view.out) * matrix_.view.in * rows_; }
  /** Where the last product ended in the pool, in words. */
  size_t touched() const { return matrix_.bytes * (first_ % matrix_.copies) / 8; }

  /** Products per second in one short round, excluding the preparation of the rows. */
  double run() { return run(count_); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  // Each thread works through its share of the outputs of one matrix after another without waiting for the others.
  double run(uint32_t count) {
    const uint32_t out = matrix_.view.out, part = (out / options_.threads + 31) / 32 * 32;
    const double rate = rate_on_threads(options_.threads, [&](uint32_t t) {
      const uint32_t begin = t * part < out ? t * part : out;
      const uint32_t end = t + 1 == options_.threads || begin + part > out ? out : begin + part;
      for (uint32_t i = 0; i < count; ++i) {
        core_.multiply(copy_of(matrix_, first_ + i), form_, prepared_.get(), rows_, begin, end, y_.data() + begin, out,
                       scratch_.get() + t * scratch_bytes_);
      }
    });
    first_ += count;
    return rate * count / options_.threads;  // every thread computed its share of each product
  }

  const LinearCore& core_;
  Options options_;
  Matrix matrix_;
  bool is_fast_;
  uint32_t rows_;
  RowForm form_;
  size_t scratch_bytes_;
  std::vector<float> y_;
  std::unique_ptr<uint8_t, Free> prepared_, scratch_;
  uint32_t first_ = 0;
  uint32_t count_ = 1;
};

std::string name_of(const Product& product) {
  const char* plain[] = {"f32", "bf16", "f16"};
  const char* small[] = {"mxfp4", "mxfp8", "nvfp4"};
  const WeightView& view = product.matrix().view;
  char format[32], text[96];
  if (view.format > kWeightAffine) snprintf(format, sizeof format, "%s", small[view.format - kWeightMxfp4]);
  else if (view.format == kWeightAffine) snprintf(format, sizeof format, "q%u g%u", view.bits, view.group);
  else snprintf(format, sizeof format, "%s", plain[view.format]);
  snprintf(text, sizeof text, "%-4s %-8s [%6u, %5u] rows %3u", product.is_fast() ? "fast" : "high", format, view.out, view.in,
           product.rows());
  return text;
}

void report(const LinearCore& core, std::vector<uint64_t>& pool, const Options& options, const Matrix& m, bool is_fast, uint32_t rows) {
  Product product(core, m, is_fast, rows, options);
  double calls = 0, bandwidth = 0;
  for (int round = 0; round < Product::kRounds; ++round) {
    if (rows <= 8) bandwidth = std::max(bandwidth, read_bandwidth(pool, options, product.touched()));
    calls = std::max(calls, product.run());
  }
  printf("%s  %7.1f GMAC/s", name_of(product).c_str(), product.macs() * calls * 1e-9);
  if (rows <= 8) {
    const double rate = static_cast<double>(m.bytes) * calls;
    printf("  %6.1f GB/s  %4.2f of read %.1f", rate * 1e-9, rate / bandwidth, bandwidth * 1e-9);
  }
  printf("\n");
  fflush(stdout);
}

/**
 * Products that take turns, so that all meet the same disturbances. "per byte": the rate in bytes compared with the first product, of the
 * best rounds, and the median over the rounds.
 */
void compare(const LinearCore& core, const Options& options, const std::vector<Matrix>& matrices, bool is_fast, uint32_t rows) {
  std::vector<std::unique_ptr<Product>> products;
  for (const Matrix& m : matrices) products.push_back(std::make_unique<Product>(core, m, is_fast, rows, options));
  std::vector<double> best(products.size());
  std::vector<std::vector<double>> ratios(products.size());
  for (int round = 0; round < Product::kRounds; ++round) {
    double first = 0;
    for (size_t i = 0; i < products.size(); ++i) {
      const double rate = products[i]->run() * static_cast<double>(matrices[i].bytes);
      if (i == 0) first = rate;
      best[i] = std::max(best[i], rate);
      ratios[i].push_back(rate / first);
    }
  }
  for (size_t i = 0; i < products.size(); ++i) {
    std::sort(ratios[i].begin(), ratios[i].end());
    const double macs = products[i]->macs() / static_cast<double>(matrices[i].bytes);
    printf("%s%s  %7.1f GMAC/s  %6.1f GB/s  per byte %4.2f, median %4.2f\n", name_of(*products[i]).c_str(),
           matrices[i].copies == 1 ? " cached" : "", best[i] * macs * 1e-9, best[i] * 1e-9, best[i] / best[0],
           ratios[i][ratios[i].size() / 2]);
  }
  fflush(stdout);
}

int run(const LinearCore& core, const Options& options, const char* only) {
  std::vector<uint64_t> pool(kPoolBytes / 8);
  uint64_t state = 88172645463325252u;
  // Random bits whose 16-bit halves are also small bf16 numbers: exponents near one. As numbers of E4M3, bytes are normal, except for one
  // in 12,500, as among weights with a normal distribution.
  for (uint64_t& word : pool) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    word = (state & 0x87f787f787f787f7u) | 0x3810381038103810u;
    if (state % 1563 == 0) word &= ~uint64_t{0xff};
  }
  printf("%s, %u threads\n", core.isa, options.threads);
  const auto affine = [&](uint32_t bits, uint32_t group, uint32_t out, uint32_t in) {
    return matrix(pool, kWeightAffine, bits, group, out, in);
  };
  const auto compare_small = [&](uint32_t out, uint32_t in, bool is_fast, uint32_t rows, bool is_cached = false) {
    std::vector<Matrix> matrices = {affine(4, 64, out, in), matrix(pool, kWeightMxfp4, 4, 32, out, in),
                                    matrix(pool, kWeightNvfp4, 4, 16, out, in), affine(8, 32, out, in),
                                    matrix(pool, kWeightMxfp8, 8, 32, out, in)};
    for (Matrix& m : matrices) m.copies = is_cached ? 1 : m.copies;
    compare(core, options, matrices, is_fast, rows);
  };
  if (strstr(only, "f")) {
    for (const uint32_t rows : {1u, 4u, 128u}) compare_small(6144, 1536, true, rows);
    compare_small(6144, 1536, false, 1);
    for (const uint32_t rows : {1u, 4u}) compare_small(512, 1536, true, rows, true);
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
