#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** Runs the prologue of a command in separate dispatches, for all of its weights. */
PreparedRows prepare_rows(CommandContext& context);

/** The rows of a product, clamped with the kernel of elementwise if its weights have bounds. */
PreparedRows clamp_rows(const LinearProduct& product);

/** The same, or nothing for products that include the prologue. */
std::optional<PreparedRows> source_rows(const LinearProduct& product);

/** True when two weights take the same rows. */
bool has_same_input(const LinearWeightParams& a, const LinearWeightParams& b);

}  // namespace markbase::gpu
