#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** Rows of a command that are few in programs of many rows too: the last row of a prompt, or those of some prompts. */
inline constexpr uint32_t kMostCoreRows = 32;

/**
 * True when the tensor cores of a GPU multiply few rows with a weight of a linear, wherever it lies: linear_cores_nvidia.metal and
 * linear_stream_nvidia.metal.
 */
bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows);

/** True when the prologue of the command, if it has one, can be a part of its products on tensor cores. */
bool packs_with_prologue(const CommandContext& context);

/** True when the first weight has codes of 4 bits in groups of 64, and its rows are whole chunks of 256 columns. */
bool is_whole(const LinearParams& p);

/** True when the tensor cores make a product of few rows; linear_stream takes some of these. */
bool takes_cores(const LinearProduct& product);

}  // namespace markbase::gpu
