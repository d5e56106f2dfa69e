#pragma once

#include <vector>

#include "module.h"

namespace cuda_sim {

/** A kernel with its grid and the values of its parameters, taken when the call was made. */
struct Launch {
  Function* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  std::vector<std::vector<char>> arguments;
};

/** Takes the values that `params` points to; kInvalidValue for what a GPU would refuse. */
Result prepare_launch(Function* function, const unsigned* grid, const unsigned* block, unsigned shared_bytes, void** params, Launch* out);

/** Runs a kernel to its end; addresses that are no memory of the GPU fail as on one. */
Result run_launch(const Launch& launch);

/** What a graph does: launches, and of each those that it waits for. */
struct Graph {
  std::vector<Launch> launches;
  std::vector<std::vector<size_t>> dependencies;
};

/** Runs the launches of a graph, those that wait for nothing any more in the order that METAL_SIM_ORDER asks for. */
Result run_graph(const Graph& graph);

}  // namespace cuda_sim
