#pragma once

#import <Metal/Metal.h>

#include <cstddef>

#include "step_layout.h"

namespace markbase::metal {

using namespace gpu;

class MetalDevice;

/** Memory that one running step shares with the host. Reused by later steps. */
class StepMemory {
 public:
  /** Lays the memory out for a step and copies in what kernels read. kOutOfMemory. */
  Status fill(const MetalDevice& device, const ProgramDescription& program, const StepCall& step);

  id<MTLBuffer> buffer() const { return buffer_; }
  const StepLayout& layout() const { return layout_; }
  /** Copies outputs and results to where the caller wants them. */
  void deliver(const ProgramDescription& program, const StepCall& step) const { layout_.deliver(program, step, bytes()); }
  /** The first command that wrote a non-finite number; UINT32_MAX = none. */
  uint32_t first_bad_command() const { return layout_.first_bad_command(bytes()); }

 private:
  std::byte* bytes() const { return static_cast<std::byte*>(buffer_.contents); }

  id<MTLBuffer> buffer_ = nil;
  StepLayout layout_;
};

}  // namespace markbase::metal
