#include "matmul_peak.h"

namespace markbase::cpu {

namespace {

typedef float F32 __attribute__((vector_size(16)));

/** One multiplication and one addition per lane, as in the generic and NEON kernels. */
uint64_t float32(uint64_t rounds) {
  constexpr int kSums = 12;
  F32 sums[kSums] = {};
  F32 a = {1, 1, 1, 1}, b = {2, 2, 2, 2};
  for (uint64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+m"(a), "+m"(b));
    const F32 x = a, y = b;
    for (F32& sum : sums) sum = sum + x * y;
  }
  for (F32& sum : sums) asm volatile("" : : "m"(sum));
  return rounds * kSums * 4 * 2;
}

}  // namespace

const PeakLoops kGenericPeak = {float32, nullptr, nullptr};

}  // namespace markbase::cpu
