#pragma once

#include "dispatch_builder.h"
#include "segment_attention_params.h"

namespace markbase::gpu {

/** True when a segment attention runs on segment_wide_nvidia.metal. The same for all steps of a program. */
bool runs_segment_wide(const CommandContext& context);

/** Appends the dispatches that prepare the heads and attend. */
void plan_segment_wide(CommandContext& context);

}  // namespace markbase::gpu
