#include <immintrin.h>

#include "peak_loop.h"

namespace markbase::cpu {

namespace {

uint64_t float32(uint64_t rounds) {
  const __m512 a = _mm512_set1_ps(1), b = _mm512_set1_ps(2);
  return peak_loop(rounds, 16, _mm512_setzero_ps(), [=](__m512& sum) {
    asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  });
}

uint64_t int8(uint64_t rounds) {
  const __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
  return peak_loop(rounds, 64, _mm512_setzero_si512(), [=](__m512i& sum) {
    asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  });
}

}  // namespace

const PeakLoops kAvx512Peak = {float32, nullptr, int8};

}  // namespace markbase::cpu
