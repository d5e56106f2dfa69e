#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** Maximum number of rows of linear_cores, and of linear_stream. */
inline constexpr uint32_t kMostCoreRows = 32, kMostStreamRows = 16;

/**
 * True when the tensor cores of a GPU can multiply a few rows with a weight of a linear, whatever its alignment: linear_cores_nvidia.metal
 * and linear_stream_nvidia.metal.
 */
bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows);

/** True when the prologue of the command, if it has one, can be a part of its products on tensor cores. */
bool packs_with_prologue(const CommandContext& context);

/** True when the first weight has 4-bit codes in groups of 64, and its rows are whole chunks of 256 columns. */
bool is_whole(const LinearParams& p);

/** True when the kernels of plan_wide_tiles.h are faster for this number of rows, if they take the weights. `p`: of the command. */
bool has_many_rows(const GpuTraits& traits, const LinearParams& p, uint32_t rows);

/** True when the tensor cores compute a product of a few rows; linear_stream takes some of these. */
bool takes_cores(const LinearProduct& product);

}  // namespace markbase::gpu
