#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** Rows of a command that are few in programs of many rows too: the last row of a prompt, or those of some prompts. */
inline constexpr uint32_t kMostCoreRows = 32;

/** True when the tensor cores of a GPU multiply few rows with a weight of a linear: kernels/nvidia/linear_cores.metal. */
bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows);

}  // namespace markbase::gpu
