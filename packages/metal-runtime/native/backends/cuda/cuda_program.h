#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda_device.h"
#include "device.h"
#include "plan_cache.h"
#include "step_memory.h"

namespace markbase::cuda {

/** Replays commands as one CUDA graph per step. */
class CudaProgram : public Program, public std::enable_shared_from_this<CudaProgram> {
 public:
  static Status create(std::shared_ptr<CudaDevice> device, ProgramDescription description, std::shared_ptr<Program>* out);

  void start(const StepCall& step, StepEnd end) override;
  std::vector<PlannedCommand> plan() const override;
  Status plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const override;
  std::vector<double> seconds() const override;

 private:
  /** A step from its start to its end. */
  struct RunningStep;
  /** Dispatches with their kernels. */
  struct Launches;

  CudaProgram(std::shared_ptr<CudaDevice> device, ProgramDescription description);

  Status prepare();
  /** The plan for a shape, cached or new, and its scratch memory. */
  Status plan_for(const gpu::StepShape& shape, std::shared_ptr<const BoundPlan>* out, std::shared_ptr<Region>* scratch);
  Status ensure_scratch(size_t bytes);
  bool has_weights() const;
  /** Waits until all mapped ranges have arrived; returns the error if one failed. */
  Status wait_for_weights();
  /** Launches a step on the GPU; the caller holds the device's launch mutex. */
  Status launch(RunningStep& running);
  Status send(RunningStep& running);
  /** The error of a step after which the GPU cannot be used. */
  Status lost(CUresult reason) const;
  Launches list_launches(const RunningStep& running, const BoundPlan& plan) const;
  Status launch_graph(RunningStep& running, const std::shared_ptr<const BoundPlan>& plan, const LaunchContext& context) const;
  Status launch_measured(RunningStep& running, const BoundPlan& plan, const LaunchContext& context) const;
  /** On the queue's thread: launches a step that waited for weights, waits for it, and ends it. */
  void complete(const std::shared_ptr<RunningStep>& running);
  Status wait_for(RunningStep& running);
  void add_seconds(RunningStep& running);
  void end(RunningStep& running);

  const std::shared_ptr<CudaDevice> device_;
  const ProgramDescription description_;
  std::vector<std::shared_ptr<Upload>> uploads_;  ///< of every buffer that a command reads
  std::shared_ptr<Region> arena_;
  const Kernel* copy_rows_ = nullptr;
  const Kernel* copy_bytes_ = nullptr;
  const Kernel* check_finite_ = nullptr;

  mutable std::mutex mutex_;
  std::shared_ptr<Region> scratch_;
  gpu::PlanCache<BoundPlan> plans_;
  std::vector<std::unique_ptr<StepMemory>> free_memory_;  ///< of steps that have ended
  std::vector<double> seconds_;                           ///< per command
};

}  // namespace markbase::cuda
