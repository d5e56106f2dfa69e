#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

extern const CpuKernel* const kKernels[];
/** All kernels of this instruction set, ended by null. */
#define MARKBASE_KERNEL(family, Name) &k##Name,
const CpuKernel* const kKernels[] = {MARKBASE_FAMILIES(MARKBASE_KERNEL) nullptr};
#undef MARKBASE_KERNEL

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
