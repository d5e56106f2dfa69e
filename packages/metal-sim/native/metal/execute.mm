// Runs recorded commands on the queue's thread.
#include <algorithm>
#include <cstring>
#include <random>

#include "../msl/memory_tracker.h"
#include "commands.h"
#include "state.h"

namespace metal_sim {
namespace {

MTLCommandBufferError error_code(msl::FaultKind kind) {
  switch (kind) {
    case msl::FaultKind::kAddress: return MTLCommandBufferErrorPageFault;
    case msl::FaultKind::kDeadlock: return MTLCommandBufferErrorTimeout;
    case msl::FaultKind::kStackOverflow: return MTLCommandBufferErrorStackOverflow;
    default: return MTLCommandBufferErrorInvalidResource;
  }
}

class Executor {
 public:
  Executor(std::vector<EncodedPass>& passes,
           NSArray<MTLSimResidencySet*>* residency,
           CommandBufferReport* report,
           ExecutionFailure* failure)
      : passes_(passes), residency_(residency), report_(report), failure_(failure), options_(msl::options_from_environment()) {}

  bool run() {
    find_memory();
    for (size_t i = 0; i < passes_.size(); ++i) {
      failure_->pass = i;
      if (!run_pass(passes_[i])) return false;
      // Metal orders encoders that use the same tracked memory.
      tracker_.barrier();
    }
    for (const auto& memory : tracker_.counted()) {
      state().read_bytes += memory->read_bytes();
      report_->add_reads(memory->label(), memory->read_bytes());
    }
    return true;
  }

 private:
  /** With checks: memory that any dispatch writes is tracked; reads of other memory are counted. */
  void find_memory() {
    std::vector<MTLSimBuffer*> read_only;
    for (const EncodedPass& pass : passes_) {
      for (const EncodedCommand& encoded : pass.commands) {
        const auto* command = std::get_if<DispatchCommand>(&encoded);
        if (!command || !command->dispatch.library->has_checks()) continue;
        const msl::KernelRecord& kernel = *command->dispatch.kernel;
        for (unsigned i = 0; i < kernel.parameter_count; ++i) {
          const msl::Parameter& parameter = kernel.parameters[i];
          if (parameter.kind != msl::ParameterKind::kBuffer || !command->buffers[parameter.index]) continue;
          MTLSimBuffer* buffer = command->buffers[parameter.index];
          if (parameter.is_writable) tracker_.track(buffer.memory.begin, buffer.memory.size);
          else read_only.push_back(buffer);
        }
      }
    }
    for (MTLSimBuffer* buffer : read_only) {
      tracker_.count(buffer.memory.begin, buffer.memory.size, buffer.label ? buffer.label.UTF8String : "");
    }
  }

  /** Dispatches between two barriers of a concurrent encoder may run in any order, so they run in the requested one. */
  bool run_pass(EncodedPass& pass) {
    size_t begin = 0;
    while (begin < pass.commands.size()) {
      size_t end = begin + 1;
      if (pass.is_concurrent && is_dispatch(pass.commands[begin])) {
        while (end < pass.commands.size() && is_dispatch(pass.commands[end])) ++end;
      }
      std::vector<size_t> order;
      for (size_t i = begin; i < end; ++i) order.push_back(i);
      if (options_.order == msl::Order::kReverse) std::reverse(order.begin(), order.end());
      if (options_.order == msl::Order::kRandom) std::shuffle(order.begin(), order.end(), random_);
      for (size_t i : order) {
        if (!std::visit([&](auto& command) { return run_command(command, pass); }, pass.commands[i])) return false;
      }
      begin = end;
    }
    return true;
  }

  static bool is_dispatch(const EncodedCommand& command) { return std::holds_alternative<DispatchCommand>(command); }

  bool run_command(DispatchCommand& command, const EncodedPass& pass) {
    msl::Dispatch& dispatch = command.dispatch;
    for (size_t i = 0; i < command.bytes.size(); ++i) {
      if (!command.bytes[i].empty()) dispatch.buffers[i] = {command.bytes[i].data(), command.bytes[i].size()};
    }
    if (command.indirect) {
      MTLDispatchThreadgroupsIndirectArguments arguments;
      std::memcpy(&arguments, command.indirect.memory.begin + command.indirect_offset, sizeof arguments);
      for (int axis = 0; axis < 3; ++axis) {
        dispatch.threads_per_grid[axis] = arguments.threadgroupsPerGrid[axis] * dispatch.threads_per_group[axis];
      }
    }
    uint64_t groups = 1;
    unsigned counts[3], threads_of_group = 1;
    std::string grid, threads;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned size = dispatch.threads_per_group[axis];
      const unsigned count = counts[axis] = (dispatch.threads_per_grid[axis] + size - 1) / size;
      groups *= count;
      threads_of_group *= size;
      grid += (axis ? "x" : "") + std::to_string(count);
      threads += (axis ? "x" : "") + std::to_string(size);
    }
    state().threadgroups += groups;
    report_->dispatches.push_back({dispatch.kernel->name, {counts[0], counts[1], counts[2]}, threads_of_group, has_barrier_, {}});
    has_barrier_ = false;
    state().add_trace(std::string(dispatch.kernel->name) + " " + grid + " " + threads + " " + pass.label);
    if (groups == 0) return true;
    add_resident(command);
    dispatch.tracker = &tracker_;
    dispatch.loads = &report_->dispatches.back().loads;
    const auto fault = msl::run(dispatch, options_);
    if (!pass.is_concurrent) tracker_.barrier();
    if (!fault) return true;
    failure_->code = error_code(fault->kind);
    failure_->message = fault->describe() + (pass.label.empty() ? "" : " in encoder " + pass.label);
    return false;
  }

  /** Memory that the kernel may access through addresses: used resources, used heaps, residency sets. */
  void add_resident(DispatchCommand& command) {
    for (id<MTLResource> resource : command.used) add_allocation(command, resource);
    for (id<MTLHeap> heap : command.used_heaps) add_allocation(command, heap);
    for (MTLSimResidencySet* set in residency_) {
      for (id<MTLAllocation> allocation in [set committedAllocations]) add_allocation(command, allocation);
    }
  }

  static void add_allocation(DispatchCommand& command, id<MTLAllocation> allocation) {
    NSObject* object = (NSObject*)allocation;
    if (![object isKindOfClass:[MTLSimBuffer class]]) return;
    command.dispatch.resident.push_back(((MTLSimBuffer*)object).memory);
  }

  bool run_command(BarrierCommand& command, const EncodedPass&) {
    report_->barriers += 1;
    has_barrier_ = true;
    if (command.resources.empty()) tracker_.barrier();
    for (id<MTLResource> resource : command.resources) {
      if ([(NSObject*)resource isKindOfClass:[MTLSimBuffer class]]) {
        tracker_.barrier(((MTLSimBuffer*)resource).memory.begin);
      }
    }
    return true;
  }

  bool run_command(CopyCommand& command, const EncodedPass&) {
    char* target = command.target.memory.begin + command.target_offset;
    if (command.source) std::memmove(target, command.source.memory.begin + command.source_offset, command.size);
    else std::memset(target, command.value, command.size);
    return true;
  }

  bool run_command(FenceCommand&, const EncodedPass&) { return true; }

  bool run_command(EventCommand& command, const EncodedPass&) {
    MTLSimEvent* event = (MTLSimEvent*)command.event;
    if (command.is_signal) event.signaledValue = command.value;
    else [event waitForValue:command.value];
    return true;
  }

  std::vector<EncodedPass>& passes_;
  NSArray<MTLSimResidencySet*>* residency_;
  CommandBufferReport* report_;
  bool has_barrier_ = false;
  ExecutionFailure* failure_;
  msl::RunOptions options_;
  std::mt19937_64 random_{options_.seed};
  msl::MemoryTracker tracker_;
};

}  // namespace

bool execute_passes(std::vector<EncodedPass>& passes,
                    NSArray<MTLSimResidencySet*>* residency,
                    CommandBufferReport* report,
                    ExecutionFailure* failure) {
  return Executor(passes, residency, report, failure).run();
}

}  // namespace metal_sim
