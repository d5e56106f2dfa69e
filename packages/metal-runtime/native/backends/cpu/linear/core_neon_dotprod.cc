#include "core_template.h"
#include "isa_tables.h"
#include "simd_neon.h"

namespace markbase::cpu {

constinit const LinearCore kNeonDotprodCore = Core<NeonSimd, NoBatch>::table("neon-dotprod");

}  // namespace markbase::cpu
