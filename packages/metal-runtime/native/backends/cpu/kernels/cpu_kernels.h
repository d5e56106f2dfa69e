#pragma once

#include <string_view>

#include "cpu_kernel.h"
#include "linear_core.h"

namespace markbase::cpu {

/** The kernel of a family for an instruction set; null if the family is unknown or this build has no code for the set. */
const CpuKernel* find_kernel(Isa isa, std::string_view family);

}  // namespace markbase::cpu
