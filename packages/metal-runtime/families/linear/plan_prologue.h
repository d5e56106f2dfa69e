#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** Runs the prologue of a command by dispatches of its own, for all of its weights. */
PreparedRows prepare_rows(CommandContext& context);

/** The rows of a product as its weights take them, by the kernel of elementwise where they have a clip. */
PreparedRows clamp_rows(const LinearProduct& product);

/** The same, or nothing for products that do the prologue. */
std::optional<PreparedRows> source_rows(const LinearProduct& product);

/** True when two weights take the same rows. */
bool has_same_input(const LinearWeightParams& a, const LinearWeightParams& b);

}  // namespace markbase::gpu
