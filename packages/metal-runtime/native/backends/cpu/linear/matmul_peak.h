#pragma once

#include <cstdint>

namespace markbase::cpu {

/** Multiplies registers with registers `rounds` times, without memory accesses; returns the operations, two per product. */
using PeakLoop = uint64_t (*)(uint64_t rounds);

/** The fastest multiplications of an instruction set; null if it has none of a kind. */
struct PeakLoops {
  PeakLoop float32;
  PeakLoop bfloat16;
  PeakLoop int8;
};

extern const PeakLoops kGenericPeak;
extern const PeakLoops kAvx2Peak;
extern const PeakLoops kAvx512Peak;
extern const PeakLoops kAvx512Bf16Peak;

}  // namespace markbase::cpu
