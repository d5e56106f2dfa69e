#pragma once

#include <vector>

#include "module.h"

namespace cuda_sim {

/** A kernel with its grid and the values of its parameters at the time of the call. */
struct Launch {
  Function* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  std::vector<std::vector<char>> arguments;
};

/** Copies the values that `params` points to; kInvalidValue for what a GPU would reject. */
Result prepare_launch(Function* function, const unsigned* grid, const unsigned* block, unsigned shared_bytes, void** params, Launch* out);

/** Runs a kernel to completion; addresses outside the GPU's memory fail as on a real one. */
Result run_launch(const Launch& launch);

/** The launches of a graph, each with those that it waits for. */
struct Graph {
  std::vector<Launch> launches;
  std::vector<std::vector<size_t>> dependencies;
};

/** Runs the launches of a graph; launches that are ready run in the order that METAL_SIM_ORDER selects. */
Result run_graph(const Graph& graph);

}  // namespace cuda_sim
