#pragma once

#include "linear_core.h"

// One table per instruction set, each defined in the file that is compiled for it.
namespace markbase::cpu {

extern const LinearCore kGenericCore;
extern const LinearCore kAvx2Core;
extern const LinearCore kAvx512Core;
extern const LinearCore kAvx512Bf16Core;
extern const LinearCore kNeonDotprodCore;
extern const LinearCore kNeonI8mmCore;

}  // namespace markbase::cpu
