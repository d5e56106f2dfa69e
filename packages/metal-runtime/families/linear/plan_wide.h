#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** True when linear_wide multiplies the rows with all weights of the command, as they lie, and all take the same rows. */
bool are_wide(const CommandContext& context);

/** Runs the prologue of several rows, whose end is a norm, for linear_wide; of weights that take the same rows. */
PreparedRows prepare_wide(CommandContext& context);

/**
 * The rows as linear_wide takes them, clamped for the first weight of `p`, by a dispatch of their own unless they are so; rows are
 * aligned.
 */
PreparedRows widen_rows(CommandContext& context, const LinearParams& p, const PreparedRows& rows);

}  // namespace markbase::gpu
