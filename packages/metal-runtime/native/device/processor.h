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

}  // namespace markbase::cpu
