#include "core_template.h"
#include "isa_tables.h"
#include "simd_neon.h"

namespace markbase::cpu {

constinit const LinearCore kNeonI8mmCore = Core<NeonSimd, NoBatch>::table("neon-i8mm");

}  // namespace markbase::cpu
