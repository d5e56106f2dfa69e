#include "metal_program.h"

#include <algorithm>
#include <utility>

#include "metal_buffer.h"
#include "metal_device.h"
#include "metal_text.h"
#include "service_dispatches.h"
#include "step_planner.h"
#include "step_shape.h"

namespace markbase::metal {

struct MetalProgram::RunningStep {
  const StepCall* step;
  StepEnd end;
  std::shared_ptr<const BoundPlan> plan;
  ProgramMemory shared;
  std::unique_ptr<StepMemory> memory;
  std::mutex mutex;
  size_t buffers_left = 1;  ///< command buffers that have not ended
  Status status;
};

Status MetalProgram::create(std::shared_ptr<MetalDevice> device, ProgramDescription description, std::shared_ptr<Program>* out) {
  std::shared_ptr<MetalProgram> program(new MetalProgram(std::move(device), std::move(description)));
  if (Status status = program->prepare(); !status.ok()) return status;
  *out = std::move(program);
  return Status::good();
}

MetalProgram::MetalProgram(std::shared_ptr<MetalDevice> device, ProgramDescription description)
    : device_(std::move(device)), description_(std::move(description)) {}

MetalProgram::~MetalProgram() {
  @autoreleasepool {
    plans_.clear();
    free_memory_.clear();
    services_ = {};
    memory_ = {};
  }
}

Status MetalProgram::prepare() {
  for (const Command& command : description_.commands) {
    for (const Binding& binding : command.bindings) {
      if (binding.kind != Binding::Kind::kBuffer) continue;
      const auto& file = static_cast<const MetalBuffer&>(*binding.buffer).file();
      if (file && std::find(files_.begin(), files_.end(), file) == files_.end()) files_.push_back(file);
    }
  }

  // Activations never leave the GPU.
  const std::string name = "program " + description_.label + ": arena";
  Status status = device_->allocate_private(description_.arena_bytes, name, &memory_.arena);
  if (!status.ok()) return status;

  KernelLibrary& kernels = device_->kernels();
  status = kernels.pipeline(kServiceSource, kCopyKernel, &services_.copy_rows);
  if (!status.ok()) return status;
  status = kernels.pipeline(kServiceSource, kBytesKernel, &services_.copy_bytes);
  if (!status.ok()) return status;
  if (description_.check_finite) {
    status = kernels.pipeline(kServiceSource, kCheckKernel, &services_.check_finite);
    if (!status.ok()) return status;
  }
  seconds_.assign(description_.commands.size(), 0);
  // Reports unsupported programs early, and compiles the kernels of the widest and the narrowest step.
  std::shared_ptr<const BoundPlan> plan;
  if (Status status = plan_for(widest_shape(description_), &plan); !status.ok()) return status;
  return plan_for(narrowest_shape(description_), &plan);
}

Status MetalProgram::plan_for(const StepShape& shape, std::shared_ptr<const BoundPlan>* out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (auto known = plans_.find(shape)) {
    *out = std::move(known);
    return Status::good();
  }
  auto bound = std::make_shared<BoundPlan>();
  if (Status status = gpu::plan_step(description_, shape, {}, &bound->plan); !status.ok()) return status;
  for (const Dispatch& dispatch : bound->plan.dispatches) {
    id<MTLComputePipelineState> pipeline = nil;
    Status status = device_->kernels().pipeline(dispatch.source, dispatch.kernel, &pipeline);
    if (!status.ok()) return status;
    if (dispatch.threads > pipeline.maxTotalThreadsPerThreadgroup) {
      const std::string reason = "this GPU runs it with at most " + std::to_string(pipeline.maxTotalThreadsPerThreadgroup) +
                                 " threads, not " + std::to_string(dispatch.threads);
      return Status::error(StatusCode::kDevice, dispatch.kernel, reason);
    }
    bound->dispatches.push_back({&dispatch, pipeline});
  }
  if (Status status = ensure_scratch(bound->plan.scratch_bytes); !status.ok()) return status;
  device_->kernels().save();
  plans_.add(bound);
  *out = std::move(bound);
  return Status::good();
}

Status MetalProgram::ensure_scratch(size_t bytes) {
  if (memory_.scratch && memory_.scratch->size_bytes() >= bytes) return Status::good();
  // Running steps keep the memory that they were encoded with.
  return device_->allocate_private(bytes, "program " + description_.label + ": scratch", &memory_.scratch);
}

Status MetalProgram::damaged_file() const {
  for (const auto& file : files_) {
    if (!file->is_shorter()) continue;
    const char* reason = "the file became shorter while it was in use; restore it and load the model again";
    return Status::error(StatusCode::kCorruptFile, file->path(), reason);
  }
  return Status::good();
}

void MetalProgram::start(const StepCall& step, StepEnd end) {
  @autoreleasepool {
    if (Status refused = device_->gate().begin(); !refused.ok()) return end(std::move(refused));
    auto running = std::make_shared<RunningStep>();
    running->step = &step;
    running->end = std::move(end);
    Status status = step.is_cancelled() ? Status::error(StatusCode::kCancelled, description_.label) : damaged_file();
    if (status.ok()) status = encode(running);
    if (status.ok()) return;
    running->status = std::move(status);
    this->end(running);
  }
}

Status MetalProgram::encode(const std::shared_ptr<RunningStep>& running) {
  const StepCall& step = *running->step;
  if (Status status = plan_for(shape_of(step.view), &running->plan); !status.ok()) return status;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running->shared = memory_;
    if (!free_memory_.empty()) {
      running->memory = std::move(free_memory_.back());
      free_memory_.pop_back();
    }
  }
  if (!running->memory) running->memory = std::make_unique<StepMemory>();
  if (Status status = running->memory->fill(*device_, description_, step); !status.ok()) return status;

  const size_t commands = description_.commands.size();
  // Measuring commands takes one command buffer per command.
  const size_t buffer_count = description_.measures_time ? std::max<size_t>(commands, 1) : 1;
  running->buffers_left = buffer_count;
  MTLCommandBufferDescriptor* descriptor = [MTLCommandBufferDescriptor new];
  descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
  std::vector<id<MTLCommandBuffer>> buffers;
  size_t next = 0;
  for (size_t i = 0; i < buffer_count; ++i) {
    id<MTLCommandBuffer> buffer = [device_->queue() commandBufferWithDescriptor:descriptor];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    if (!encoder) return Status::error(StatusCode::kDevice, description_.label, "the GPU provides no command buffer");
    const size_t first = description_.measures_time ? i : 0, last = description_.measures_time ? i + 1 : commands;
    const std::string label = description_.label +
                              (description_.measures_time && commands > 0 ? ": " + description_.commands[i].label : std::string());
    buffer.label = to_ns_string(label);
    encoder.label = to_ns_string(label);
    StepEncoder encoding(encoder, running->shared, *running->memory);
    if (i == 0) {
      for (const Dispatch& copy : input_copies(description_, step, running->memory->layout())) {
        encoding.dispatch({&copy, copy.kernel == kBytesKernel ? services_.copy_bytes : services_.copy_rows});
      }
      if (!step.inputs.empty()) encoding.barrier();
    }
    for (size_t command = first; command < std::min(last, commands); ++command) {
      encode_command(encoding, *running->plan, command, &next, *running);
    }
    if (i + 1 == buffer_count && !step.outputs.empty()) {
      encoding.barrier();
      for (const Dispatch& copy : output_copies(description_, step, running->memory->layout())) {
        encoding.dispatch({&copy, services_.copy_rows});
      }
    }
    [encoder endEncoding];
    // A block copies captured variables, but of a reference only the reference itself.
    const std::shared_ptr<MetalProgram> self = shared_from_this();
    const std::shared_ptr<RunningStep> held = running;
    const size_t command = i;
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> ended) {
      self->finish(held, ended, command);
    }];
    buffers.push_back(buffer);
  }
  for (id<MTLCommandBuffer> buffer : buffers) [buffer commit];
  return Status::good();
}

void MetalProgram::encode_command(
    StepEncoder& encoder, const BoundPlan& plan, size_t command, size_t* next, const RunningStep& running) const {
  for (; *next < plan.dispatches.size() && plan.dispatches[*next].dispatch->command == command; ++*next) {
    encoder.dispatch(plan.dispatches[*next]);
  }
  if (!description_.check_finite) return;
  encoder.barrier();
  for (const Dispatch& check : finite_checks(description_, command, running.step->view, running.memory->layout())) {
    encoder.dispatch({&check, services_.check_finite});
  }
  encoder.barrier();
}

void MetalProgram::finish(const std::shared_ptr<RunningStep>& running, id<MTLCommandBuffer> buffer, size_t command) {
  @autoreleasepool {
    if (description_.measures_time && command < seconds_.size()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      seconds_[command] += buffer.GPUEndTime - buffer.GPUStartTime;
    }
    {
      const std::lock_guard<std::mutex> lock(running->mutex);
      const bool has_failed = buffer.status == MTLCommandBufferStatusError;
      if (has_failed && running->status.ok()) running->status = failure_of(*running, buffer, command);
      if (--running->buffers_left > 0) return;
    }
    Status& status = running->status;
    if (const Status damaged = damaged_file(); !damaged.ok()) {
      status = damaged;
    } else if (status.ok() && description_.check_finite && running->memory->first_bad_command() != UINT32_MAX) {
      const Command& bad = description_.commands[running->memory->first_bad_command()];
      status = Status::error(StatusCode::kNonFinite, bad.label);
    } else if (status.ok() && (running->step->is_cancelled() || device_->gate().is_shut_down())) {
      status = Status::error(StatusCode::kCancelled, description_.label);
    } else if (status.ok()) {
      running->memory->deliver(description_, *running->step);
    }
    end(running);
  }
}

Status MetalProgram::failure_of(const RunningStep& running, id<MTLCommandBuffer> buffer, size_t command) const {
  Status status = device_->status_of(buffer.error, to_string(buffer.label), description_.arena_bytes);
  if (status.code != StatusCode::kDevice || device_->gate().is_lost()) return status;
  std::vector<std::string> kernels;
  for (const Dispatch& dispatch : running.plan->plan.dispatches) {
    if (description_.measures_time && dispatch.command != command) continue;
    if (std::find(kernels.begin(), kernels.end(), dispatch.kernel) == kernels.end()) kernels.push_back(dispatch.kernel);
  }
  for (size_t i = 0; i < kernels.size(); ++i) status.message += (i == 0 ? "; kernels: " : ", ") + kernels[i];
  return status;
}

void MetalProgram::end(const std::shared_ptr<RunningStep>& running) {
  if (running->memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_memory_.push_back(std::move(running->memory));
  }
  const std::shared_ptr<MetalDevice> device = device_;
  const StepEnd end = std::move(running->end);
  end(std::move(running->status));
  device->gate().end();
}

std::vector<PlannedCommand> MetalProgram::plan() const { return list_commands(description_, {}); }

Status MetalProgram::plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const {
  return list_dispatches(description_, size, {}, out);
}

std::vector<double> MetalProgram::seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return seconds_;
}

}  // namespace markbase::metal
