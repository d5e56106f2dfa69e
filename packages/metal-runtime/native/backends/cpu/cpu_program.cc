#include "cpu_program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "cpu_device.h"
#include "guard.h"
#include "kernels/cpu_kernels.h"

namespace markbase::cpu {

Status CpuProgram::create(std::shared_ptr<CpuDevice> device, ProgramDescription description, std::shared_ptr<Program>* out) {
  std::shared_ptr<CpuProgram> program(new CpuProgram(std::move(device), std::move(description)));
  if (Status status = program->bind(); !status.ok()) return status;
  *out = std::move(program);
  return Status::good();
}

Status CpuProgram::bind() {
  const std::string name = "program " + description_.label;
  if (Status status = AnonymousBuffer::create(description_.arena_bytes, name + ": arena", &arena_); !status.ok()) {
    return status;
  }
  size_t scratch_bytes = 0;
  size_t phases = 0;
  for (const Command& command : description_.commands) {
    const CpuKernel* kernel = find_kernel(device_->isa(), command.kernel.family);
    if (!kernel) return Status::error(StatusCode::kDevice, command.kernel.name(), "the CPU backend has no such kernel");
    BoundCommand bound{kernel, &command, {}};
    for (const Binding& binding : command.bindings) {
      switch (binding.kind) {
        case Binding::Kind::kNone: bound.buffers.push_back(nullptr); break;
        case Binding::Kind::kArena: bound.buffers.push_back(arena_->data() + binding.arena_offset); break;
        case Binding::Kind::kBuffer: {
          const auto* buffer = static_cast<const CpuBuffer*>(binding.buffer.get());
          bound.buffers.push_back(buffer->data());
          const auto* mapped = dynamic_cast<const MappedBuffer*>(buffer);
          if (mapped && std::find(files_.begin(), files_.end(), mapped->file()) == files_.end()) {
            files_.push_back(mapped->file());
          }
          break;
        }
      }
    }
    if (kernel->scratch_bytes) {
      const uint32_t rows = command.row_set == kOutputRows ? description_.max_outputs : description_.max_rows;
      const size_t bytes = kernel->scratch_bytes(command.params.data(), rows, device_->threads());
      scratch_bytes = std::max(scratch_bytes, bytes);
    }
    phases += kernel->phases;
    commands_.push_back(std::move(bound));
  }
  seconds_.assign(commands_.size(), 0);
  next_item_ = std::vector<std::atomic<uint32_t>>(phases);
  return AnonymousBuffer::create(scratch_bytes, name + ": scratch", &scratch_);
}

void CpuProgram::start(const StepCall& step, StepEnd end) {
  device_->queue().push([this, &step, end = std::move(end)] { end(guarded("step", [&] { return run(step); })); });
}

Status CpuProgram::run(const StepCall& step) {
  if (device_->is_shut_down() || step.is_cancelled()) return Status::error(StatusCode::kCancelled, description_.label);
  for (auto& next : next_item_) next.store(0, std::memory_order_relaxed);
  step_ = &step;
  stop_stage_.store(kNeverStop);
  non_finite_ = nullptr;
  copy_inputs(step);

  struct Context {
    CpuProgram* program;
    Barrier barrier;
  } context{this, Barrier(device_->threads())};
  device_->pool().run(
      [](void* opaque, uint32_t thread) {
        auto* job = static_cast<Context*>(opaque);
        job->program->run_commands(thread, &job->barrier);
      },
      &context);

  step_ = nullptr;
  if (non_finite_) return Status::error(StatusCode::kNonFinite, non_finite_->command->label);
  if (stop_stage_.load() != kNeverStop) return Status::error(StatusCode::kCancelled, description_.label);
  if (Status status = damaged_file(); !status.ok()) return status;
  copy_outputs(step);
  return Status::good();
}

void CpuProgram::run_commands(uint32_t thread, Barrier* barrier) {
  size_t phase_index = 0;
  size_t stage = 0;
  // Thread 0 decides before a barrier whether to stop, and all threads obey after it, so that all leave at the same barrier.
  const auto continues = [&](bool stops) {
    if (stops) stop_stage_.store(stage, std::memory_order_relaxed);
    barrier->wait();
    return stop_stage_.load(std::memory_order_relaxed) > stage++;
  };
  using Clock = std::chrono::steady_clock;
  const bool measures = description_.measures_time && thread == 0;
  auto start = measures ? Clock::now() : Clock::time_point{};
  for (size_t index = 0; index < commands_.size(); ++index) {
    const BoundCommand& bound = commands_[index];
    for (uint32_t phase = 0; phase < bound.kernel->phases; ++phase) {
      if (!run_phase(bound, phase, &next_item_[phase_index++], thread)) continue;
      if (!continues(thread == 0 && (step_->is_cancelled() || device_->is_shut_down()))) return;
    }
    if (measures) {
      const auto end = Clock::now();
      seconds_[index] += std::chrono::duration<double>(end - start).count();
      start = end;
    }
    if (!description_.check_finite) continue;
    const bool is_bad = thread == 0 && has_non_finite_output(bound);
    if (is_bad) non_finite_ = &bound;
    if (!continues(is_bad)) return;
  }
}

bool CpuProgram::run_phase(const BoundCommand& bound, uint32_t phase, std::atomic<uint32_t>* next, uint32_t thread) {
  const uint32_t threads = device_->threads();
  const CpuCall call{bound.command->params.data(), bound.buffers.data(), &step_->view, scratch_->data(), threads};
  const uint32_t items = bound.kernel->items(call, phase);
  // Guided scheduling: large chunks first, so that a thread streams through adjacent rows of a weight; small ones last, so that a slow core
  // does not keep the others waiting.
  bool has_entered = bound.kernel->enter == nullptr;
  uint32_t begin = next->load(std::memory_order_relaxed);
  while (begin < items) {
    const uint32_t piece = std::max(1u, (items - begin) / (2 * threads));
    if (next->compare_exchange_weak(begin, begin + piece, std::memory_order_relaxed)) {
      if (!has_entered) bound.kernel->enter(call, phase, thread);
      has_entered = true;
      bound.kernel->run(call, phase, begin, begin + piece, thread);
      begin = next->load(std::memory_order_relaxed);
    }
  }
  return items > 0;
}

bool CpuProgram::has_non_finite_output(const BoundCommand& bound) const {
  // Only activations are checked: the sampler's results are integers or checked by its caller.
  if (bound.command->kernel.family == "sample") return false;
  const auto& bindings = bound.command->bindings;
  const uint32_t rows = step_->view.rows[bound.command->row_set];
  const uint32_t max_rows = bound.command->row_set == kOutputRows ? description_.max_outputs : description_.max_rows;
  for (size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].kind != Binding::Kind::kArena || !bindings[i].is_output || max_rows == 0) continue;
    const auto* values = static_cast<const float*>(bound.buffers[i]);
    const size_t count = bindings[i].size_bytes / sizeof(float) / max_rows * rows;
    if (!std::all_of(values, values + count, [](float value) { return std::isfinite(value); })) return true;
  }
  return false;
}

void CpuProgram::copy_inputs(const StepCall& step) {
  for (const PortData& input : step.inputs) {
    std::byte* target = arena_->data() + description_.inputs[input.port].arena_offset;
    if (input.bytes) {
      auto* numbers = reinterpret_cast<float*>(target);
      std::transform(input.bytes, input.bytes + input.count, numbers, [&](uint8_t byte) { return input.values[byte]; });
    } else {
      std::memcpy(target, input.data, input.count * sizeof(float));
    }
  }
}

void CpuProgram::copy_outputs(const StepCall& step) const {
  for (const PortData& output : step.outputs) {
    const Port& port = description_.outputs[output.port];
    const auto* source = reinterpret_cast<const float*>(arena_->data() + port.arena_offset);
    for (size_t row = 0; row * port.width < output.count; ++row) {
      std::memcpy(output.data + row * port.width, source + row * port.stride, port.width * sizeof(float));
    }
  }
  if (!description_.has_sampler) return;
  const SamplerPorts& sampler = description_.sampler;
  const size_t rows = step.view.rows[kOutputRows];
  // Arrays of the caller that hold no numbers may have no memory.
  if (rows == 0) return;
  const std::byte* arena = arena_->data();
  std::memcpy(step.sampled, arena + sampler.tokens, rows * sizeof(int32_t));
  std::memcpy(step.logprobs, arena + sampler.logprobs, rows * sizeof(float));
  std::memcpy(step.top_tokens, arena + sampler.top_tokens, rows * kMaxTopLogprobs * sizeof(int32_t));
  std::memcpy(step.top_logprobs, arena + sampler.top_logprobs, rows * kMaxTopLogprobs * sizeof(float));
}

Status CpuProgram::damaged_file() const {
  for (const auto& file : files_) {
    if (!file->is_damaged()) continue;
    const char* reason = "the file became shorter while it was in use; restore it and load the model again";
    return Status::error(StatusCode::kCorruptFile, file->path(), reason);
  }
  return Status::good();
}

std::vector<PlannedCommand> CpuProgram::plan() const {
  std::vector<PlannedCommand> planned;
  for (const BoundCommand& bound : commands_) planned.push_back({bound.command->kernel.name(), bound.kernel->phases});
  return planned;
}

}  // namespace markbase::cpu
