#pragma once

#include "attention_params.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/**
 * True when the tensor cores of a GPU do an attention of few rows: attention_few_nvidia.metal. It holds for all steps of a
 * program or for none.
 */
bool runs_attention_few(const CommandContext& context);

/** True when heads are prepared by attention_few_prepare, before an attention of any kernel. */
bool prepares_by_lanes(const CommandContext& context);

/** Prepares the heads of all rows: queries to scratch memory, keys and values to the cache. */
void plan_attention_prepare(CommandContext& context, size_t prepared, size_t prepared_bytes);

/** Attention by these kernels, with its preparation and its fold. */
void plan_attention_few(CommandContext& context);

}  // namespace markbase::gpu
