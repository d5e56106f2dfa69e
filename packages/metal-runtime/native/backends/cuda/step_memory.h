#pragma once

#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "memory_pool.h"
#include "step_graph.h"

namespace markbase::cuda {

/**
 * Memory that one running step shares with the host: the same layout on both sides, and one copy in each direction. Reused by later steps,
 * with the graphs that were created for it.
 */
class StepMemory {
 public:
  explicit StepMemory(const std::shared_ptr<Context>& context) : context_(context), host_(context), done_(context) {}

  /** Lays the memory out for a step and fills the host's side. kOutOfMemory. */
  Status fill(MemoryPool& pool, const ProgramDescription& program, const StepCall& step);
  /** Starts the copy to the GPU. */
  CUresult send(CUstream stream) const;
  /** Starts the copy back, and records the end of the step after it. */
  CUresult receive(CUstream stream) const;
  /** Waits for the copy back. */
  CUresult wait() const;

  /** The graph for such a step, or null. */
  const StepGraph* find_graph(const GraphKey& key);
  /** Adds a graph; only the most recent ones are kept. */
  const StepGraph* keep_graph(std::unique_ptr<StepGraph> graph);
  /** Events around every command of a step: one more than there are commands. */
  Status marks(size_t count, std::vector<CUevent>* out);

  const gpu::StepLayout& layout() const { return layout_; }
  CUdeviceptr address() const { return device_->address(); }
  const std::byte* host() const { return host_.data(); }

 private:
  const std::shared_ptr<Context> context_;
  PinnedMemory host_;
  std::shared_ptr<Region> device_;
  Event done_;
  gpu::StepLayout layout_;
  std::list<std::unique_ptr<StepGraph>> graphs_;  ///< most recent first
  std::list<Event> marks_;
};

}  // namespace markbase::cuda
