#include "core_template.h"
#include "isa_tables.h"
#include "simd_avx512.h"
#include "tile_avx512.h"
#include "tile_avx512_bf16.h"

namespace markbase::cpu {

constinit const LinearCore kAvx512Bf16Core = Core<Avx512Simd, Avx512Tile, Avx512Bf16Tile>::table("avx512-bf16");

}  // namespace markbase::cpu
