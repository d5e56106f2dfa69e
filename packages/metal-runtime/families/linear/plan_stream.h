#pragma once

#include "plan_cores.h"

namespace markbase::gpu {

/** True when linear_stream multiplies the command's rows: of those that runs_on_cores, up to 16, with codes of 4 bits in groups of 64. `p`: of a group of weights. */
bool runs_as_stream(const CommandContext& context, const LinearParams& p);

/** Multiplies so. `rows`: prepared ones; without them, the prologue is a part of the work. */
void multiply_by_stream(CommandContext& context, const LinearParams& selected, const WeightGroup& group, const PreparedRows* rows);

}  // namespace markbase::gpu
