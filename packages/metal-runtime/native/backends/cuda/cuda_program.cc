#include "cuda_program.h"

#include <algorithm>
#include <utility>

#include "guard.h"
#include "service_dispatches.h"
#include "step_planner.h"
#include "step_shape.h"

namespace markbase::cuda {

using gpu::Dispatch;
using gpu::StepShape;

namespace {

/** The largest grid in y and z. */
constexpr uint32_t kMostGroups = 65535;

Status check_launch(const Dispatch& dispatch, const Kernel& kernel) {
  if (dispatch.threads > kernel.max_threads) {
    // Reached only on a GPU whose driver compiles a kernel for fewer threads than it is planned with.
    const std::string reason = "this GPU runs it with at most " + std::to_string(kernel.max_threads) + " threads, not " +
                               std::to_string(dispatch.threads);
    return Status::error(StatusCode::kDevice, kernel.name, reason);
  }
  if (dispatch.groups[1] <= kMostGroups && dispatch.groups[2] <= kMostGroups) return Status::good();
  // Reached only by steps of more than 65535 rows or heads.
  const std::string reason = "a grid of " + std::to_string(dispatch.groups[1]) + " by " + std::to_string(dispatch.groups[2]) +
                             " blocks in y and z, but the maximum is " + std::to_string(kMostGroups) + ": use fewer rows in a step";
  return Status::error(StatusCode::kDevice, kernel.name, reason);
}

std::vector<size_t> ports_of(const StepCall& step) {
  std::vector<size_t> ports = {step.inputs.size()};
  for (const std::vector<PortData>& list : {step.inputs, step.outputs}) {
    // Counts belong to the key: similar counts of elements can have the same layout.
    for (const PortData& data : list) ports.insert(ports.end(), {data.port, data.count, data.bytes != nullptr});
  }
  return ports;
}

}  // namespace

struct CudaProgram::RunningStep {
  RunningStep(const StepCall& call, StepEnd when_done) : step(&call), end(std::move(when_done)) {}

  const StepCall* step;
  StepEnd end;
  std::unique_ptr<StepMemory> memory;
  std::shared_ptr<Region> scratch;  ///< scratch memory of this launch; the program may have replaced it by a larger one
  std::vector<CUevent> marks;       ///< of a measured step: before the first command and after each
  bool is_launched = false;
  Status status;
};

struct CudaProgram::Launches {
  std::vector<Dispatch> dispatches;
  std::vector<const Kernel*> kernels;

  void add(const Dispatch& dispatch, const Kernel* kernel) {
    if (is_empty(dispatch)) return;
    dispatches.push_back(dispatch);
    kernels.push_back(kernel);
  }
};

Status CudaProgram::create(std::shared_ptr<CudaDevice> device, ProgramDescription description, std::shared_ptr<Program>* out) {
  std::shared_ptr<CudaProgram> program(new CudaProgram(std::move(device), std::move(description)));
  if (Status status = program->prepare(); !status.ok()) return status;
  *out = std::move(program);
  return Status::good();
}

CudaProgram::CudaProgram(std::shared_ptr<CudaDevice> device, ProgramDescription description)
    : device_(std::move(device)), description_(std::move(description)) {}

Status CudaProgram::prepare() {
  for (const Command& command : description_.commands) {
    for (const Binding& binding : command.bindings) {
      if (binding.kind != Binding::Kind::kBuffer) continue;
      const auto& upload = static_cast<const CudaBuffer&>(*binding.buffer).upload();
      if (upload && std::find(uploads_.begin(), uploads_.end(), upload) == uploads_.end()) uploads_.push_back(upload);
    }
  }
  const std::string name = "program " + description_.label + ": arena";
  if (Status status = device_->memory().allocate(description_.arena_bytes, name, &arena_); !status.ok()) return status;
  KernelLibrary& kernels = device_->kernels();
  if (Status status = kernels.load({gpu::kCopyKernel, gpu::kBytesKernel, gpu::kCheckKernel}); !status.ok()) return status;
  if (Status status = kernels.kernel(gpu::kCopyKernel, &copy_rows_); !status.ok()) return status;
  if (Status status = kernels.kernel(gpu::kBytesKernel, &copy_bytes_); !status.ok()) return status;
  if (Status status = kernels.kernel(gpu::kCheckKernel, &check_finite_); !status.ok()) return status;
  seconds_.assign(description_.commands.size(), 0);
  // Reports unsupported programs early, and loads the kernels of the widest and the narrowest step.
  std::shared_ptr<const BoundPlan> plan;
  std::shared_ptr<Region> scratch;
  if (Status status = plan_for(gpu::widest_shape(description_), &plan, &scratch); !status.ok()) return status;
  return plan_for(gpu::narrowest_shape(description_), &plan, &scratch);
}

Status CudaProgram::plan_for(const StepShape& shape, std::shared_ptr<const BoundPlan>* out, std::shared_ptr<Region>* scratch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto known = plans_.find(shape);
  if (!known) {
    auto bound = std::make_shared<BoundPlan>();
    if (Status status = gpu::plan_step(description_, shape, device_->traits(), &bound->plan); !status.ok()) return status;
    KernelLibrary& kernels = device_->kernels();
    std::vector<std::string> names;
    for (const Dispatch& dispatch : bound->plan.dispatches) names.push_back(dispatch.kernel);
    if (Status status = kernels.load(names); !status.ok()) return status;
    for (const Dispatch& dispatch : bound->plan.dispatches) {
      const Kernel* kernel = nullptr;
      if (Status status = kernels.kernel(dispatch.kernel, &kernel); !status.ok()) return status;
      if (Status status = check_launch(dispatch, *kernel); !status.ok()) return status;
      if (Status status = kernels.allow_dynamic_shared(*kernel, shared_bytes_of(dispatch)); !status.ok()) return status;
      bound->kernels.push_back(kernel);
    }
    if (Status status = ensure_scratch(bound->plan.scratch_bytes); !status.ok()) return status;
    plans_.add(bound);
    known = std::move(bound);
  }
  *out = std::move(known);
  *scratch = scratch_;
  return Status::good();
}

Status CudaProgram::ensure_scratch(size_t bytes) {
  if (scratch_ && scratch_->size_bytes() >= bytes) return Status::good();
  // Running steps keep the memory that they were launched with.
  const std::string label = "program " + description_.label + ": scratch";
  std::shared_ptr<Region> scratch;
  if (Status status = device_->memory().allocate(bytes, label, &scratch); !status.ok()) return status;
  if (device_->traits().has_tensor_cores()) {
    const size_t counters = std::min(bytes, gpu::kCounterBytes);
    if (Status status = device_->clear(scratch->address(), counters, label); !status.ok()) return status;
  }
  scratch_ = std::move(scratch);
  return Status::good();
}

bool CudaProgram::has_weights() const {
  return std::all_of(uploads_.begin(), uploads_.end(), [](const auto& upload) { return upload->is_done(); });
}

Status CudaProgram::wait_for_weights() {
  for (const auto& upload : uploads_) {
    if (Status status = upload->wait(); !status.ok()) return status;
  }
  return Status::good();
}

void CudaProgram::start(const StepCall& step, StepEnd end) {
  if (Status refused = device_->gate().begin(); !refused.ok()) return end(std::move(refused));
  const auto running = std::make_shared<RunningStep>(step, std::move(end));
  Status status = guarded("start of a step", [&] {
    if (step.is_cancelled()) return Status::error(StatusCode::kCancelled, description_.label);
    const std::lock_guard<std::mutex> lock(device_->launch_mutex());
    // If the weights are still being uploaded, the queue launches this step and those after it.
    if (device_->waiting_launches() == 0 && has_weights()) {
      if (Status launched = launch(*running); !launched.ok()) return launched;
    } else {
      ++device_->waiting_launches();
    }
    device_->queue().push([self = shared_from_this(), running] { self->complete(running); });
    return Status::good();
  });
  if (status.ok()) return;
  running->status = std::move(status);
  this->end(*running);
}

Status CudaProgram::lost(CUresult reason) const {
  device_->gate().lose();
  return Status::error(StatusCode::kDevice, description_.label,
                       device_->driver().describe(reason) + ". The GPU was lost: open the device again");
}

Status CudaProgram::launch(RunningStep& running) {
  Status status = send(running);
  running.is_launched = status.ok();
  if (status.ok()) return status;
  const ContextScope scope(*device_->context());
  // Memory of launched work may still be read. A call may also report the error of an earlier launch.
  const CUresult result = device_->driver().stream_synchronize(device_->stream());
  return is_fatal(result) ? lost(result) : status;
}

Status CudaProgram::send(RunningStep& running) {
  if (Status status = wait_for_weights(); !status.ok()) return status;
  const StepCall& step = *running.step;
  std::shared_ptr<const BoundPlan> plan;
  if (Status status = plan_for(gpu::shape_of(step.view), &plan, &running.scratch); !status.ok()) return status;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_memory_.empty()) {
      running.memory = std::move(free_memory_.back());
      free_memory_.pop_back();
    }
  }
  if (!running.memory) running.memory = std::make_unique<StepMemory>(device_->context());
  StepMemory& memory = *running.memory;
  if (Status status = memory.fill(device_->memory(), description_, step); !status.ok()) return status;

  const ContextScope scope(*device_->context());
  const Driver& driver = device_->driver();
  const LaunchContext context = {arena_->address(), running.scratch->address(), memory.address(), &memory.layout()};
  CUresult result = memory.send(device_->stream());
  Status status = result == CUDA_SUCCESS ? Status::good() : driver.error(result, description_.label);
  if (status.ok()) {
    status = description_.measures_time ? launch_measured(running, *plan, context) : launch_graph(running, plan, context);
  }
  if (status.ok()) {
    result = memory.receive(device_->stream());
    if (result != CUDA_SUCCESS) status = driver.error(result, description_.label);
  }
  return status;
}

CudaProgram::Launches CudaProgram::list_launches(const RunningStep& running, const BoundPlan& plan) const {
  const gpu::StepLayout& layout = running.memory->layout();
  const StepCall& step = *running.step;
  Launches launches;
  for (const Dispatch& copy : input_copies(description_, step, layout)) {
    launches.add(copy, copy.kernel == gpu::kBytesKernel ? copy_bytes_ : copy_rows_);
  }
  size_t next = 0;
  for (size_t command = 0; command < description_.commands.size(); ++command) {
    for (; next < plan.plan.dispatches.size() && plan.plan.dispatches[next].command == command; ++next) {
      launches.add(plan.plan.dispatches[next], plan.kernels[next]);
    }
    if (!description_.check_finite) continue;
    for (const Dispatch& check : finite_checks(description_, command, step.view, layout)) launches.add(check, check_finite_);
  }
  for (const Dispatch& copy : output_copies(description_, step, layout)) launches.add(copy, copy_rows_);
  return launches;
}

Status CudaProgram::launch_graph(RunningStep& running, const std::shared_ptr<const BoundPlan>& plan, const LaunchContext& context) const {
  GraphKey key = {plan, running.scratch, running.memory->layout(), ports_of(*running.step)};
  const StepGraph* graph = running.memory->find_graph(key);
  if (!graph) {
    const Launches launches = list_launches(running, *plan);
    auto made = std::make_unique<StepGraph>(device_->context(), std::move(key));
    if (Status status = made->create(launches.dispatches, launches.kernels, context); !status.ok()) return status;
    graph = running.memory->keep_graph(std::move(made));
  }
  const CUresult result = device_->driver().graph_launch(graph->handle(), device_->stream());
  return result == CUDA_SUCCESS ? Status::good() : device_->driver().error(result, description_.label);
}

Status CudaProgram::launch_measured(RunningStep& running, const BoundPlan& plan, const LaunchContext& context) const {
  const Driver& driver = device_->driver();
  const CUstream stream = device_->stream();
  const size_t commands = description_.commands.size();
  if (Status status = running.memory->marks(commands + 1, &running.marks); !status.ok()) return status;
  const Launches launches = list_launches(running, plan);
  // Launches on a stream run one after the other. Input copies belong to no command; output copies follow the last one.
  const size_t inputs = running.step->inputs.size();
  size_t marked = 0;
  const auto mark_until = [&](size_t command) {
    CUresult result = CUDA_SUCCESS;
    for (; marked <= command && result == CUDA_SUCCESS; ++marked) result = driver.event_record(running.marks[marked], stream);
    return result;
  };
  for (size_t i = 0; i < launches.dispatches.size(); ++i) {
    const Dispatch& dispatch = launches.dispatches[i];
    LaunchArguments arguments;
    if (Status status = LaunchArguments::bind(dispatch, *launches.kernels[i], context, &arguments); !status.ok()) return status;
    CUresult result = i < inputs ? CUDA_SUCCESS : mark_until(dispatch.command);
    if (result == CUDA_SUCCESS) {
      result = driver.launch_kernel(launches.kernels[i]->function, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                                    dispatch.threads, 1, 1, shared_bytes_of(dispatch), stream, arguments.pointers(), nullptr);
    }
    if (result != CUDA_SUCCESS) return driver.error(result, launches.kernels[i]->name);
  }
  const CUresult result = mark_until(commands);
  return result == CUDA_SUCCESS ? Status::good() : driver.error(result, description_.label);
}

void CudaProgram::complete(const std::shared_ptr<RunningStep>& running) {
  const bool has_waited = !running->is_launched;
  running->status = guarded("end of a step", [&] {
    if (!has_waited) return wait_for(*running);
    Status status = wait_for_weights();
    const std::lock_guard<std::mutex> lock(device_->launch_mutex());
    --device_->waiting_launches();
    if (status.ok() && running->step->is_cancelled()) status = Status::error(StatusCode::kCancelled, description_.label);
    return status.ok() ? launch(*running) : status;
  });
  if (has_waited && running->status.ok()) running->status = guarded("end of a step", [&] { return wait_for(*running); });
  end(*running);
}

Status CudaProgram::wait_for(RunningStep& running) {
  const ContextScope scope(*device_->context());
  const Driver& driver = device_->driver();
  const StepMemory& memory = *running.memory;
  const CUresult result = memory.wait();
  if (is_fatal(result)) return lost(result);
  if (result != CUDA_SUCCESS) return driver.error(result, description_.label);
  if (description_.measures_time) add_seconds(running);
  const uint32_t bad = memory.layout().first_bad_command(memory.host());
  if (description_.check_finite && bad != UINT32_MAX) {
    return Status::error(StatusCode::kNonFinite, description_.commands[bad].label);
  }
  if (running.step->is_cancelled() || device_->gate().is_shut_down()) {
    // Reached only if a step is stopped while it runs: a test may be too late.
    return Status::error(StatusCode::kCancelled, description_.label);
  }
  memory.layout().deliver(description_, *running.step, memory.host());
  return Status::good();
}

void CudaProgram::add_seconds(RunningStep& running) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < seconds_.size(); ++i) {
    float milliseconds = 0;
    const CUresult result = device_->driver().event_elapsed(&milliseconds, running.marks[i], running.marks[i + 1]);
    if (result == CUDA_SUCCESS) seconds_[i] += milliseconds / 1000.0;
  }
}

void CudaProgram::end(RunningStep& running) {
  if (running.memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_memory_.push_back(std::move(running.memory));
  }
  const std::shared_ptr<CudaDevice> device = device_;
  const StepEnd end = std::move(running.end);
  end(std::move(running.status));
  device->gate().end();
}

std::vector<PlannedCommand> CudaProgram::plan() const { return gpu::list_commands(description_, device_->traits()); }

Status CudaProgram::plan_step(const StepSize& size, std::vector<PlannedDispatch>* out) const {
  return gpu::list_dispatches(description_, size, device_->traits(), out);
}

std::vector<double> CudaProgram::seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return seconds_;
}

}  // namespace markbase::cuda
