#include "core_template.h"
#include "isa_tables.h"
#include "simd_generic.h"

namespace markbase::cpu {

constinit const LinearCore kGenericCore = Core<GenericSimd, NoBatch>::table("generic");

}  // namespace markbase::cpu
