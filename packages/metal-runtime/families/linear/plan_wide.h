#pragma once

#include "plan_linear.h"

namespace markbase::gpu {

/** True when linear_wide can multiply the rows with all weights of the command as they are stored, and all weights take the same rows. */
bool are_wide(const CommandContext& context);

/** Runs the prologue of several rows, which ends with a norm, for linear_wide; for weights that take the same rows. */
PreparedRows prepare_wide(CommandContext& context);

/**
 * The rows in the layout of linear_wide, clamped for the first weight of `p`; converted by a separate dispatch unless they already are.
 * Rows are aligned.
 */
PreparedRows widen_rows(CommandContext& context, const LinearParams& p, const PreparedRows& rows);

}  // namespace markbase::gpu
