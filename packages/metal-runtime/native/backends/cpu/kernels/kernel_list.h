#pragma once

#include "cpu_kernel.h"

/** The kernels of one instruction set; each is defined in the file of its family. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

extern const CpuKernel kEmbed;
extern const CpuKernel kRmsNorm;
extern const CpuKernel kElementwise;
extern const CpuKernel kRopeTable;
extern const CpuKernel kRope;
extern const CpuKernel kKvAppend;
extern const CpuKernel kKvCopy;
extern const CpuKernel kAttention;
extern const CpuKernel kGatherRows;
extern const CpuKernel kMoeRoute;
extern const CpuKernel kMoeLinear;
extern const CpuKernel kMoeCombine;
extern const CpuKernel kConv2d;
extern const CpuKernel kCausalConv;
extern const CpuKernel kLocalAttention;
extern const CpuKernel kSample;
extern const CpuKernel kLinear;
extern const CpuKernel kLayerNorm;
extern const CpuKernel kColumnAffine;
extern const CpuKernel kPoolRows;
extern const CpuKernel kSegmentAttention;

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
