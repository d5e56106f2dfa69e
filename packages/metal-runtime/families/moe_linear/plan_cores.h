#pragma once

#include "dispatch_builder.h"
#include "moe_linear_params.h"

namespace markbase::gpu {

/** Scratch memory shared by the dispatches of a command. */
struct ScratchRegion {
  size_t offset = 0;
  size_t bytes = 0;
};

/** Products of one weight of a command, or of its pair of weights. */
struct ExpertProducts {
  MoeLinearParams p;         ///< with only these weights
  uint32_t first_weight;     ///< their index in the command
  ScratchRegion products{};  ///< destination, if not the output of the command
};

/**
 * True when tensor cores compute the products of weights first .. first + count of a moe_linear: moe_cores_nvidia.metal and
 * moe_wide_nvidia.metal.
 */
bool runs_on_expert_cores(const CommandContext& context, uint32_t first, uint32_t count);

/** Plans such products. */
void multiply_on_cores(CommandContext& context, const ExpertProducts& job);

/** Sums the products [rows, top_k * out] in scratch over the experts of a row, with the kernel of moe_combine. */
void combine_products(CommandContext& context, size_t products, size_t bytes);

}  // namespace markbase::gpu
