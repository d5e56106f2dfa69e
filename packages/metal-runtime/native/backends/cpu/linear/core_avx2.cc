#include "core_template.h"
#include "isa_tables.h"
#include "simd_avx2.h"

namespace markbase::cpu {

constinit const LinearCore kAvx2Core = Core<Avx2Simd, NoBatch>::table("avx2");

}  // namespace markbase::cpu
