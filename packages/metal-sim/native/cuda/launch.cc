#include "launch.h"

#include <cstdio>
#include <cstring>
#include <random>

#include "../msl/dispatch.h"
#include "../msl/memory_tracker.h"
#include "memory.h"

namespace cuda_sim {
namespace {

Result result_of(msl::FaultKind kind) {
  if (kind == msl::FaultKind::kAddress) return kIllegalAddress;
  return kind == msl::FaultKind::kDeadlock ? kLaunchTimeout : kLaunchFailed;
}

}  // namespace

Result prepare_launch(Function* function, const unsigned* grid, const unsigned* block, unsigned shared_bytes, void** params, Launch* out) {
  const std::string name = function->kernel->name;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[1] > 65535 || grid[2] > 65535) {
    return misuse(kInvalidValue, name + ": the grid is empty or too large");
  }
  if (block[0] == 0 || block[0] * block[1] * block[2] > 1024)
    return misuse(kInvalidValue, name + ": the block is empty or has more than 1024 threads");
  if (shared_bytes > function->max_dynamic_bytes) return misuse(kInvalidValue, name + ": too much dynamic shared memory");
  if (function->has_dynamic_shared && shared_bytes == 0) return misuse(kInvalidValue, name + ": no dynamic shared memory");
  *out = {function, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes, {}};
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    if (!params || !params[i]) return misuse(kInvalidValue, name + ": a parameter without a value");
    const auto* value = static_cast<const char*>(params[i]);
    out->arguments.emplace_back(value, value + function->parameters[i].bytes);
  }
  return kSuccess;
}

Result run_launch(const Launch& launch) {
  const Function& function = *launch.function;
  msl::Dispatch dispatch;
  dispatch.library = function.library;
  dispatch.kernel = function.kernel;
  dispatch.threadgroup_bytes[0] = launch.shared_bytes;
  dispatch.most_threadgroup_bytes = 227 * 1024;
  dispatch.barriers_order_all = true;
  msl::MemoryTracker tracker;
  std::vector<std::vector<char>> values = launch.arguments;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const EntryParameter& parameter = function.parameters[i];
    if (parameter.is_value) {
      dispatch.buffers[parameter.index] = {values[i].data(), values[i].size()};
      continue;
    }
    uint64_t address = 0;
    std::memcpy(&address, values[i].data(), sizeof address);
    const Span memory = device_memory(address);
    if (!memory.begin) return misuse(kIllegalAddress, std::string(function.kernel->name) + ": an address outside all allocated memory");
    dispatch.buffers[parameter.index] = {memory.begin, memory.size};
  }
  if (function.library->has_checks()) {
    for (unsigned i = 0; i < function.kernel->parameter_count; ++i) {
      const msl::Parameter& parameter = function.kernel->parameters[i];
      if (parameter.kind != msl::ParameterKind::kBuffer || !parameter.is_writable) continue;
      tracker.track(dispatch.buffers[parameter.index].begin, dispatch.buffers[parameter.index].size);
    }
    tracker.begin_dispatch(function.kernel->name);
    dispatch.tracker = &tracker;
  }
  for (int axis = 0; axis < 3; ++axis) {
    dispatch.threads_per_group[axis] = launch.block[axis];
    dispatch.threads_per_grid[axis] = launch.grid[axis] * launch.block[axis];
  }
  state().launches += 1;
  if (state().takes_failure(kCudaSimEcc)) return kEcc;
  if (state().takes_failure(kCudaSimLaunchFails)) return kLaunchFailed;
  const auto fault = msl::run(dispatch, msl::options_from_environment());
  if (!fault) return kSuccess;
  std::fprintf(stderr, "cuda-sim: %s\n", fault->describe().c_str());
  return result_of(fault->kind);
}

Result run_graph(const Graph& graph) {
  const msl::RunOptions options = msl::options_from_environment();
  static thread_local std::mt19937_64 random(options.seed);
  std::vector<size_t> waits(graph.launches.size());
  std::vector<std::vector<size_t>> followers(graph.launches.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < graph.launches.size(); ++i) {
    waits[i] = graph.dependencies[i].size();
    for (const size_t earlier : graph.dependencies[i]) followers[earlier].push_back(i);
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    size_t pick = 0;
    if (options.order == msl::Order::kReverse) pick = ready.size() - 1;
    if (options.order == msl::Order::kRandom) pick = random() % ready.size();
    const size_t node = ready[pick];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    if (const Result result = run_launch(graph.launches[node]); result != kSuccess) return result;
    for (const size_t follower : followers[node]) {
      if (--waits[follower] == 0) ready.push_back(follower);
    }
  }
  return kSuccess;
}

}  // namespace cuda_sim
