#pragma once

#include "step_planner.h"

namespace markbase::gpu {

/**
 * Dispatches that do the work of several commands, where that is the same work: from command `index` on, `*count` commands are
 * planned, or none, with a count of 0. `context` is that of the first one.
 */
Status plan_merged(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count);

}  // namespace markbase::gpu
