#pragma once

#include "attention_params.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/**
 * True when the tensor cores of a GPU do an attention of few rows: kernels/nvidia/attention_few.metal. It holds for all steps of a
 * program or for none.
 */
bool runs_attention_few(const CommandContext& context);

/** Attention by these kernels, with its preparation and its fold. */
void plan_attention_few(CommandContext& context);

}  // namespace markbase::gpu
