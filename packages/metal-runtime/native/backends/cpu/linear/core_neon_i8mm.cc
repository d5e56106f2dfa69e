#include "core_template.h"
#include "isa_tables.h"
#include "simd_neon.h"
#include "tile_i8mm.h"

namespace markbase::cpu {

constinit const LinearCore kNeonI8mmCore = Core<NeonSimd, NeonI8mmTile>::table("neon-i8mm");

}  // namespace markbase::cpu
