#pragma once

#include "attention_params.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/** True when attention of many rows runs on attention_wide_nvidia.metal. The same for all steps of a program. */
bool runs_attention_wide(const CommandContext& context);

/** Cuts rows and heads into threadgroups and appends the attention of prepared rows, which are in scratch memory or in q. */
void plan_attention_wide(CommandContext& context, bool is_prepared, size_t prepared, size_t prepared_bytes);

}  // namespace markbase::gpu
