#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

extern const CpuKernel* const kKernels[];
/** All kernels of this instruction set, ended by null. */
const CpuKernel* const kKernels[] = {&kEmbed,     &kRmsNorm,    &kElementwise, &kRopeTable, &kRope,
                                     &kKvAppend,  &kAttention,  &kGatherRows,  &kMoeRoute,  &kMoeLinear,
                                     &kMoeCombine, &kSample,    &kLinear,      nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
