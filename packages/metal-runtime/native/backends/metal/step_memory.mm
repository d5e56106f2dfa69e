#include "step_memory.h"

#include "metal_device.h"

namespace markbase::metal {

Status StepMemory::fill(const MetalDevice& device, const ProgramDescription& program, const StepCall& step) {
  layout_ = StepLayout(program, step);
  if (!buffer_ || buffer_.length < layout_.size_bytes()) {
    const std::string name = "step of " + program.label;
    buffer_ = device.new_buffer(layout_.size_bytes(), name);
    if (!buffer_) return Status::error(StatusCode::kOutOfMemory, name, {}, layout_.size_bytes());
  }
  layout_.fill(program, step, bytes());
  return Status::good();
}

}  // namespace markbase::metal
