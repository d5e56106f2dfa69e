#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "status.h"

namespace markbase::cpu {

/** Instruction sets that both this build and this processor support, best last. */
std::vector<std::string> supported_isas();

/** Bytes per second that `threads` threads read from memory together. */
Status measure_read_bandwidth(uint32_t threads, double* bytes_per_second);

/** Multiplications and additions per second, two per product; 0 = the processor has no such units. */
struct MatmulPeak {
  double float32;
  double bfloat16;
  double int8;
};

/**
 * Multiplies registers on `threads` threads, without memory accesses: the upper limit of every matrix product. Time is the processor time
 * of the threads, so that other programs do not lower the result.
 */
Status measure_matmul_peak(uint32_t threads, MatmulPeak* peak);

}  // namespace markbase::cpu
