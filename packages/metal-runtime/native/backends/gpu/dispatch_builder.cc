#include "dispatch_builder.h"

#include <utility>

#include "region_buffer.h"

namespace markbase::gpu {

size_t operand_offset(const Command& command, uint32_t operand) {
  const Binding& binding = command.bindings[operand];
  if (binding.kind == Binding::Kind::kArena) return binding.arena_offset;
  if (binding.kind == Binding::Kind::kNone) return 0;
  return static_cast<const RegionBuffer&>(*binding.buffer).offset_bytes();
}

DispatchBuilder::DispatchBuilder(CommandContext& context, std::string source, std::string kernel) : context_(context) {
  dispatch_.source = std::move(source);
  dispatch_.kernel = std::move(kernel);
  dispatch_.command = context.index;
  dispatch_.params = context.command.params;
  dispatch_.launch.rows = context.rows();
}

DispatchBuilder& DispatchBuilder::operand_of(const Command& command, uint32_t operand, uint32_t argument, uint32_t shift_slot) {
  const Binding& binding = command.bindings[operand];
  if (binding.kind == Binding::Kind::kNone) return nothing(argument);
  Argument bound;
  bound.index = argument;
  bound.offset = operand_offset(command, operand);
  bound.size_bytes = binding.size_bytes;
  bound.is_written = binding.is_output;
  // A command also reads the caches that it writes, but no other outputs.
  bound.is_read = !binding.is_output || binding.kind == Binding::Kind::kBuffer;
  if (binding.kind == Binding::Kind::kBuffer) {
    bound.kind = Argument::Kind::kBuffer;
    bound.buffer = binding.buffer.get();
    const uint32_t shift = static_cast<uint32_t>(bound.offset % 16);
    dispatch_.launch.shift[shift_slot] = shift;
    bound.offset -= shift;
    bound.size_bytes += shift;
  } else {
    bound.kind = Argument::Kind::kArena;
  }
  dispatch_.arguments.push_back(bound);
  return *this;
}

DispatchBuilder& DispatchBuilder::read(uint32_t operand, uint32_t argument) {
  this->operand(operand, argument, operand);
  dispatch_.arguments.back().is_read = true;
  dispatch_.arguments.back().is_written = false;
  return *this;
}

DispatchBuilder& DispatchBuilder::nothing(uint32_t argument) {
  Argument bound;
  bound.index = argument;
  dispatch_.arguments.push_back(bound);
  return *this;
}

DispatchBuilder& DispatchBuilder::scratch(uint32_t argument, size_t offset, size_t bytes, bool is_written) {
  Argument bound;
  bound.kind = Argument::Kind::kScratch;
  bound.index = argument;
  bound.offset = offset;
  bound.size_bytes = bytes;
  bound.is_read = !is_written;
  bound.is_written = is_written;
  dispatch_.arguments.push_back(bound);
  return *this;
}

DispatchBuilder& DispatchBuilder::step(uint32_t argument, StepArray array) {
  Argument bound;
  bound.kind = Argument::Kind::kStep;
  bound.index = argument;
  bound.array = array;
  dispatch_.arguments.push_back(bound);
  return *this;
}

DispatchBuilder& DispatchBuilder::grid(uint32_t x, uint32_t y, uint32_t z, uint32_t threads) {
  dispatch_.groups[0] = x;
  dispatch_.groups[1] = y;
  dispatch_.groups[2] = z;
  dispatch_.threads = threads;
  return *this;
}

DispatchBuilder& DispatchBuilder::shared_row(uint32_t width, uint32_t chunk) {
  return shared_bytes(divide_up(width, chunk) * chunk * sizeof(float));
}

DispatchBuilder& DispatchBuilder::shared_bytes(uint32_t bytes) {
  dispatch_.threadgroup_bytes = bytes;
  return *this;
}

}  // namespace markbase::gpu
