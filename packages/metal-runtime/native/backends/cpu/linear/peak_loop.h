#pragma once

#include "matmul_peak.h"

namespace markbase::cpu {
namespace {

/** Number of sums: enough to hide the latency of one, and few enough for 16 registers. */
constexpr int kSums = 12;

/** Runs step(sum) on every sum for `rounds` rounds; `products`: multiplications of one step, which the compiler must not drop. */
template <class Sum, class Step>
uint64_t peak_loop(uint64_t rounds, uint64_t products, Sum zero, Step step) {
  Sum s0 = zero, s1 = zero, s2 = zero, s3 = zero, s4 = zero, s5 = zero;
  Sum s6 = zero, s7 = zero, s8 = zero, s9 = zero, s10 = zero, s11 = zero;
  for (uint64_t round = 0; round < rounds; ++round) {
    step(s0), step(s1), step(s2), step(s3), step(s4), step(s5);
    step(s6), step(s7), step(s8), step(s9), step(s10), step(s11);
  }
  return rounds * kSums * products * 2;
}

}  // namespace
}  // namespace markbase::cpu
