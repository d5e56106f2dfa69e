#include <immintrin.h>

#include "peak_loop.h"

namespace markbase::cpu {

namespace {

uint64_t bfloat16(uint64_t rounds) {
  const __m512i a = _mm512_set1_epi16(0x3f80), b = _mm512_set1_epi16(0x4000);
  return peak_loop(rounds, 32, _mm512_setzero_ps(), [=](__m512& sum) {
    asm volatile("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  });
}

}  // namespace

/** Peaks that AVX-512 without bf16 instructions lacks. */
const PeakLoops kAvx512Bf16Peak = {nullptr, bfloat16, nullptr};

}  // namespace markbase::cpu
