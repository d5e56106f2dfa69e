#pragma once

#include <vector>

#include "dispatch.h"

namespace markbase::gpu {

/**
 * Sets needs_barrier of every dispatch that reads what was written, or writes what was read or written, since the barrier
 * before it. All others may run at the same time.
 */
void place_barriers(std::vector<Dispatch>* dispatches);

/**
 * The same as a graph: for every dispatch the earlier ones that it waits for, without those that these wait for anyway.
 */
std::vector<std::vector<size_t>> find_dependencies(const std::vector<Dispatch>& dispatches);

}  // namespace markbase::gpu
