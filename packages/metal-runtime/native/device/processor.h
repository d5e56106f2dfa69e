#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "status.h"

namespace markbase::cpu {

/** Instruction sets that this build and this processor have, best last. */
std::vector<std::string> supported_isas();

/** Bytes per second that `threads` threads read from memory together. */
Status measure_read_bandwidth(uint32_t threads, double* bytes_per_second);

/** Multiplications and additions per second of the processor's units, two a product; 0 = it has no such units. */
struct MatmulPeak {
  double float32;
  double bfloat16;
  double int8;
};

/**
 * Multiplies registers on `threads` threads, with nothing to load: the roof of every matrix product. Seconds are those that
 * the threads ran, so that other programs do not lower it.
 */
Status measure_matmul_peak(uint32_t threads, MatmulPeak* peak);

}  // namespace markbase::cpu
