#pragma once

#include "attention_params.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/**
 * True when attention of a few rows runs on the tensor cores of a GPU (attention_few_nvidia.metal). The same for all steps of a program.
 */
bool runs_attention_few(const CommandContext& context);

/** True when attention_few_prepare prepares the heads, whichever kernel computes the attention. */
bool prepares_by_lanes(const CommandContext& context);

/** Prepares the heads of all rows: queries to scratch memory, keys and values to the cache. */
void plan_attention_prepare(CommandContext& context, size_t prepared, size_t prepared_bytes);

/** Plans attention with these kernels, including preparation and fold. */
void plan_attention_few(CommandContext& context);

}  // namespace markbase::gpu
