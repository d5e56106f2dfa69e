#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** How a dispatch is cut: the kernel, and the work of one threadgroup. */
struct LinearTiling {
  const char* source;
  const char* kernel;  ///< without the format
  uint32_t rows;
  uint32_t outputs;
  uint32_t threads;
};

/** Products in one dispatch, with kernels that run on every GPU. */
void plan_tiling(const LinearProduct& product, const LinearTiling& tiling);

}  // namespace markbase::gpu
