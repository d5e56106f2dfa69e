#pragma once

#include <memory>
#include <vector>

#include "kernel_library.h"
#include "memory_pool.h"
#include "step_layout.h"

namespace markbase::cuda {

/** A step plan with its kernels, so that nothing is looked up while a step is launched. */
struct BoundPlan {
  gpu::StepPlan plan;
  std::vector<const Kernel*> kernels;  ///< of its dispatches
};

/** Addresses of the memory that dispatches refer to. */
struct LaunchContext {
  CUdeviceptr arena = 0;
  CUdeviceptr scratch = 0;
  CUdeviceptr step = 0;
  const gpu::StepLayout* layout = nullptr;
};

/** The arguments of a launch in the driver's form: addresses of values. Lives as long as the call. */
class LaunchArguments {
 public:
  /** kDevice if the dispatch lacks an argument of the kernel. */
  static Status bind(const gpu::Dispatch& dispatch, const Kernel& kernel, const LaunchContext& context, LaunchArguments* out);
  void** pointers() { return pointers_.data(); }

 private:
  std::vector<CUdeviceptr> addresses_;
  std::vector<void*> pointers_;
};

/** Dynamic shared memory of a launch. */
uint32_t shared_bytes_of(const gpu::Dispatch& dispatch);

/** True when the dispatch has no threadgroups. */
bool is_empty(const gpu::Dispatch& dispatch);

/** Everything about a step that decides its graph. */
struct GraphKey {
  std::shared_ptr<const BoundPlan> plan;
  std::shared_ptr<Region> scratch;
  gpu::StepLayout layout;
  std::vector<size_t> ports;  ///< number of inputs, then port and elements of each input and output
  bool operator==(const GraphKey&) const = default;
};

/** The launches of a step with their dependencies, ready to be started by one call. */
class StepGraph {
 public:
  StepGraph(std::shared_ptr<Context> context, GraphKey key) : context_(std::move(context)), key_(std::move(key)) {}
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /** Creates the graph of dispatches in order. `kernels`: of the dispatches. */
  Status create(const std::vector<gpu::Dispatch>& dispatches, const std::vector<const Kernel*>& kernels, const LaunchContext& launch);
  const GraphKey& key() const { return key_; }
  CUgraphExec handle() const { return exec_; }

 private:
  Status add_nodes(CUgraph graph,
                   const std::vector<gpu::Dispatch>& dispatches,
                   const std::vector<const Kernel*>& kernels,
                   const LaunchContext& launch) const;

  const std::shared_ptr<Context> context_;
  const GraphKey key_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace markbase::cuda
