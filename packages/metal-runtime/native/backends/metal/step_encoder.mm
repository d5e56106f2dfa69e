#include "step_encoder.h"

namespace markbase::metal {

void StepEncoder::bind(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer:
      [encoder_ setBuffer:static_cast<const MetalBuffer*>(argument.buffer)->buffer() offset:argument.offset atIndex:argument.index];
      break;
    case Argument::Kind::kArena: [encoder_ setBuffer:memory_.arena->buffer() offset:argument.offset atIndex:argument.index]; break;
    case Argument::Kind::kScratch: [encoder_ setBuffer:memory_.scratch->buffer() offset:argument.offset atIndex:argument.index]; break;
    case Argument::Kind::kStep:
      [encoder_ setBuffer:step_.buffer() offset:step_.layout().offset_of(argument.array) atIndex:argument.index];
      break;
    case Argument::Kind::kStaged: [encoder_ setBuffer:step_.buffer() offset:argument.offset atIndex:argument.index]; break;
    case Argument::Kind::kResult:
      [encoder_ setBuffer:step_.buffer() offset:step_.layout().results() + argument.offset atIndex:argument.index];
      break;
    case Argument::Kind::kNothing:
      // The kernel does not read it, but every binding that a kernel declares must exist.
      [encoder_ setBuffer:step_.buffer() offset:0 atIndex:argument.index];
      break;
  }
}

void StepEncoder::dispatch(const BoundDispatch& bound) {
  const Dispatch& dispatch = *bound.dispatch;
  if (dispatch.needs_barrier) barrier();
  [encoder_ setComputePipelineState:bound.pipeline];
  [encoder_ setBytes:dispatch.params.data() length:dispatch.params.size() atIndex:0];
  [encoder_ setBytes:&dispatch.launch length:sizeof(Launch) atIndex:1];
  for (const Argument& argument : dispatch.arguments) bind(argument);
  if (dispatch.threadgroup_bytes > 0) {
    [encoder_ setThreadgroupMemoryLength:(dispatch.threadgroup_bytes + 15) / 16 * 16 atIndex:0];
  }
  [encoder_ dispatchThreadgroups:MTLSizeMake(dispatch.groups[0], dispatch.groups[1], dispatch.groups[2])
           threadsPerThreadgroup:MTLSizeMake(dispatch.threads, 1, 1)];
}

}  // namespace markbase::metal
