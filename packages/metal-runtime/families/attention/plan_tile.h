#pragma once

#include <string>

#include "attention_params.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/** True when all steps of the program run on tiles, however few rows a step has: a row's bits do not depend on its neighbours. */
inline bool is_tiled(const AttentionParams& p) { return p.is_fast != 0 && p.has_few_rows == 0; }

/** Kernel of attention_tile.metal for a head width and cache type. */
std::string attention_tile_kernel(const AttentionParams& p);

/** Binds the arrays of the step and cuts rows and heads into threadgroups; q, cache and out are already bound. */
void cut_attention_tile(const AttentionParams& p, uint32_t rows, DispatchBuilder* dispatch);

}  // namespace markbase::gpu
