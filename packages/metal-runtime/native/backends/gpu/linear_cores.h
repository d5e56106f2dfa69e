#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** True when the tensor cores of a GPU multiply few rows with a weight of a linear: kernels/nvidia/linear_cores.metal. */
bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight);

}  // namespace markbase::gpu
