#include <immintrin.h>

#include "peak_loop.h"

namespace markbase::cpu {

namespace {

uint64_t float32(uint64_t rounds) {
  const __m256 a = _mm256_set1_ps(1), b = _mm256_set1_ps(2);
  return peak_loop(rounds, 8, _mm256_setzero_ps(), [=](__m256& sum) {
    asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  });
}

}  // namespace

const PeakLoops kAvx2Peak = {float32, nullptr, nullptr};

}  // namespace markbase::cpu
