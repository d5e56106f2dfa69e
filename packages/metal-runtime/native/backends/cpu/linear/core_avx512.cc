#include "core_template.h"
#include "isa_tables.h"
#include "simd_avx512.h"
#include "tile_avx512.h"

namespace markbase::cpu {

constinit const LinearCore kAvx512Core = Core<Avx512Simd, Avx512Tile>::table("avx512");

}  // namespace markbase::cpu
