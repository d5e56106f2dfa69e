#pragma once

#include <vector>

#include "dispatch.h"

namespace markbase::gpu {

/**
 * Sets needs_barrier of every dispatch that reads what was written, or writes what was read or written, since the previous barrier. All
 * others may run concurrently.
 */
void place_barriers(std::vector<Dispatch>* dispatches);

/**
 * The same as a graph: for every dispatch, the earlier ones that it waits for, without indirect dependencies.
 */
std::vector<std::vector<size_t>> find_dependencies(const std::vector<Dispatch>& dispatches);

}  // namespace markbase::gpu
