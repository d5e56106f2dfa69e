#pragma once

#include "cpu_kernel.h"
#include "family_list.h"

/** The kernels of one instruction set; each is defined in the folder of its family. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

#define MARKBASE_KERNEL(family, Name) extern const CpuKernel k##Name;
MARKBASE_FAMILIES(MARKBASE_KERNEL)
#undef MARKBASE_KERNEL

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
