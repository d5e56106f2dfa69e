#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

extern const CpuKernel* const kKernels[];
/** All kernels of this instruction set, ended by null. */
const CpuKernel* const kKernels[] = {
    &kEmbed,
    &kRmsNorm,
    &kElementwise,
    &kRopeTable,
    &kRope,
    &kKvAppend,
    &kKvCopy,
    &kAttention,
    &kGatherRows,
    &kMoeRoute,
    &kMoeLinear,
    &kMoeCombine,
    &kSample,
    &kLinear,
    &kLayerNorm,
    &kColumnAffine,
    &kPoolRows,
    &kSegmentAttention,
    &kConv2d,
    &kCausalConv,
    &kLocalAttention,
    nullptr,
};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
