#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "dispatch.h"
#include "plan_cache.h"
#include "step_encoder.h"
#include "step_memory.h"

namespace markbase::metal {

using namespace gpu;

class MappedFile;
class MetalDevice;

/** A step plan with its pipelines, so that nothing is looked up while a step is encoded. */
struct BoundPlan {
  StepPlan plan;
  std::vector<BoundDispatch> dispatches;
};

/** Pipelines of the services around the commands. */
struct ServicePipelines {
  id<MTLComputePipelineState> copy_rows = nil;
  id<MTLComputePipelineState> copy_bytes = nil;
  id<MTLComputePipelineState> check_finite = nil;
};

/** Replays commands as dispatches of one command buffer per step. */
class MetalProgram : public Program, public std::enable_shared_from_this<MetalProgram> {
 public:
  static Status create(std::shared_ptr<MetalDevice> device, ProgramDescription description, std::shared_ptr<Program>* out);
  ~MetalProgram() override;

  void start(const StepCall& step, StepEnd end) override;
  std::vector<PlannedCommand> plan() const override;
  Status plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const override;
  std::vector<double> seconds() const override;

 private:
  /** A step from its start to its end. */
  struct RunningStep;

  MetalProgram(std::shared_ptr<MetalDevice> device, ProgramDescription description);

  Status prepare();
  /** The plan for a shape, cached or new. */
  Status plan_for(const StepShape& shape, std::shared_ptr<const BoundPlan>* out);
  Status ensure_scratch(size_t bytes);
  Status damaged_file() const;
  Status encode(const std::shared_ptr<RunningStep>& running);
  void encode_command(StepEncoder& encoder, const BoundPlan& plan, size_t command, size_t* next, const RunningStep& running) const;
  /** Called on a thread of Metal when a command buffer of the step has ended. */
  void finish(const std::shared_ptr<RunningStep>& running, id<MTLCommandBuffer> buffer, size_t command);
  void end(const std::shared_ptr<RunningStep>& running);
  /** The failure of a command buffer of a step, and the kernels that it contained. */
  Status failure_of(const RunningStep& running, id<MTLCommandBuffer> buffer, size_t command) const;

  const std::shared_ptr<MetalDevice> device_;
  const ProgramDescription description_;
  std::vector<std::shared_ptr<MappedFile>> files_;  ///< every file that the commands read
  ProgramMemory memory_;
  ServicePipelines services_;

  mutable std::mutex mutex_;
  PlanCache<BoundPlan> plans_;
  std::vector<std::unique_ptr<StepMemory>> free_memory_;  ///< of steps that have ended
  std::vector<double> seconds_;                           ///< per command
};

}  // namespace markbase::metal
