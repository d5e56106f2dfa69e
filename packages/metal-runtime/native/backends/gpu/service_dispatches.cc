#include "service_dispatches.h"

#include <algorithm>

#include "dispatch_builder.h"
#include "row_copy.h"

namespace markbase::gpu {

namespace {

template <typename Params>
Dispatch service(const char* kernel, const Params& params, uint32_t elements, uint32_t rows) {
  Dispatch dispatch;
  dispatch.source = kServiceSource;
  dispatch.kernel = kernel;
  const auto* bytes = reinterpret_cast<const std::byte*>(&params);
  dispatch.params.assign(bytes, bytes + sizeof params);
  // One thread per element.
  dispatch.groups[0] = divide_up(elements, kRowThreads);
  dispatch.groups[1] = rows;
  dispatch.threads = kRowThreads;
  return dispatch;
}

Argument argument(Argument::Kind kind, uint32_t index, size_t offset, size_t bytes, bool is_written) {
  Argument bound;
  bound.kind = kind;
  bound.index = index;
  bound.offset = offset;
  bound.size_bytes = bytes;
  bound.is_read = !is_written;
  bound.is_written = is_written;
  return bound;
}

/** Number of rows of a port in a step. */
uint32_t rows_of(const Port& port, const PortData& data) { return static_cast<uint32_t>(data.count / std::max(port.width, 1u)); }

/** Bytes of the arena from a port's first element through its last one. */
size_t span_of(const Port& port, uint32_t rows) { return (size_t{rows - 1} * port.stride + port.width) * sizeof(float); }

}  // namespace

std::vector<Dispatch> input_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout) {
  std::vector<Dispatch> copies;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const PortData& input = step.inputs[i];
    const Port& port = program.inputs[input.port];
    const uint32_t rows = rows_of(port, input);
    if (rows == 0 || port.width == 0) continue;
    const RowCopyParams params = {rows, port.width, port.width, port.stride};
    Dispatch copy = service(input.bytes ? kBytesKernel : kCopyKernel, params, port.width, rows);
    const size_t value_bytes = input.bytes ? kByteValues * sizeof(float) : 0;
    const size_t size_bytes = input.count * (input.bytes ? 1 : sizeof(float));
    copy.arguments = {argument(Argument::Kind::kStaged, kFirstOperand, layout.input(i) + value_bytes, size_bytes, false),
                      argument(Argument::Kind::kArena, kFirstOperand + 1, port.arena_offset, span_of(port, rows), true)};
    if (input.bytes) {
      copy.arguments.push_back(argument(Argument::Kind::kStaged, kFirstOperand + 2, layout.input(i), value_bytes, false));
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

std::vector<Dispatch> output_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout) {
  std::vector<Dispatch> copies;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Port& port = program.outputs[step.outputs[i].port];
    const uint32_t rows = rows_of(port, step.outputs[i]);
    if (rows == 0 || port.width == 0) continue;
    Dispatch copy = service(kCopyKernel, RowCopyParams{rows, port.width, port.stride, port.width}, port.width, rows);
    copy.arguments = {argument(Argument::Kind::kArena, kFirstOperand, port.arena_offset, span_of(port, rows), false),
                      argument(Argument::Kind::kStaged, kFirstOperand + 1, layout.output(i), step.outputs[i].count * sizeof(float), true)};
    copies.push_back(std::move(copy));
  }
  return copies;
}

std::vector<Dispatch> finite_checks(const ProgramDescription& program, size_t index, const StepView& view, const StepLayout& layout) {
  std::vector<Dispatch> checks;
  const Command& command = program.commands[index];
  if (command.kernel.family == "sample") return checks;
  const uint32_t rows = view.rows[command.row_set];
  const uint32_t max_rows = command.row_set == kOutputRows ? program.max_outputs : program.max_rows;
  for (const Binding& binding : command.bindings) {
    if (binding.kind != Binding::Kind::kArena || !binding.is_output || max_rows == 0) continue;
    const auto count = static_cast<uint32_t>(binding.size_bytes / sizeof(float) / max_rows * rows);
    if (count == 0) continue;
    Dispatch check = service(kCheckKernel, FiniteCheckParams{count, static_cast<uint32_t>(index)}, count, 1);
    check.command = index;
    // Checks lower one number atomically, so they need not wait for each other.
    Argument first_bad = argument(Argument::Kind::kStaged, kFirstOperand + 1, layout.first_bad(), sizeof(uint32_t), true);
    first_bad.is_written = false;
    check.arguments = {argument(Argument::Kind::kArena, kFirstOperand, binding.arena_offset, count * sizeof(float), false), first_bad};
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace markbase::gpu
