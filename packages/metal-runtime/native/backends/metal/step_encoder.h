#pragma once

#import <Metal/Metal.h>

#include <memory>

#include "dispatch.h"
#include "metal_buffer.h"
#include "step_memory.h"

namespace markbase::metal {

using namespace gpu;

/** A planned dispatch with its pipeline. */
struct BoundDispatch {
  const Dispatch* dispatch;
  id<MTLComputePipelineState> pipeline;
};

/** Memory that the steps of a program share. */
struct ProgramMemory {
  std::shared_ptr<MetalBuffer> arena;
  std::shared_ptr<MetalBuffer> scratch;
};

/** Encodes the dispatches of one step into a concurrent compute encoder, with the barriers of the plan. */
class StepEncoder {
 public:
  StepEncoder(id<MTLComputeCommandEncoder> encoder, const ProgramMemory& memory, const StepMemory& step)
      : encoder_(encoder), memory_(memory), step_(step) {}

  void barrier() { [encoder_ memoryBarrierWithScope:MTLBarrierScopeBuffers]; }
  void dispatch(const BoundDispatch& bound);

 private:
  void bind(const Argument& argument);

  id<MTLComputeCommandEncoder> encoder_;
  const ProgramMemory& memory_;
  const StepMemory& step_;
};

}  // namespace markbase::metal
