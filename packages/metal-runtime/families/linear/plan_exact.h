#pragma once

#include "dispatch_builder.h"

namespace markbase::gpu {

/**
 * True when the command is a product with a weight of 8 bits that has few outputs, which an NVIDIA GPU makes in float32 and with the bits of
 * linear_row and linear_rows: up to 32 rows with an output for a simdgroup (linear_exact_nvidia.metal), or more of them
 * (linear_exact_rows_nvidia.metal).
 */
bool runs_exactly(const CommandContext& context);

/** Multiplies so, with the prologue. */
void multiply_exactly(CommandContext& context);

}  // namespace markbase::gpu
