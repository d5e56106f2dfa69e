#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** How a dispatch is cut: which kernel, and what one of its threadgroups makes. */
struct LinearTiling {
  const char* source;
  const char* kernel;  ///< without the format
  uint32_t rows;
  uint32_t outputs;
  uint32_t threads;
};

/** Products in one dispatch, which all GPUs have the kernels for. */
void plan_tiling(const LinearProduct& product, const LinearTiling& tiling);

}  // namespace markbase::gpu
