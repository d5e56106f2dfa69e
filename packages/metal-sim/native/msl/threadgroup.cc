#include "threadgroup.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "access_checker.h"

namespace msl {
namespace {

thread_local GroupRunner* current_runner = nullptr;

/** The same for what kernels call: one dispatch runs at a time, and a variable of a thread costs a call. */
GroupRunner* active_runner = nullptr;

/** Stacks outlive dispatches. */
FiberPool& thread_fibers() {
  static thread_local FiberPool fibers;
  return fibers;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

constexpr unsigned kAtomicsBeforeYield = 64;
constexpr unsigned kDynamicMemoryId = 1u << 30;

}  // namespace

GroupRunner* GroupRunner::current() { return current_runner; }

GroupRunner::GroupRunner(const Dispatch& dispatch, const RunOptions& options)
    : dispatch_(dispatch), options_(options), fibers_(thread_fibers()), random_(options.seed) {
  for (unsigned i = 0; i < kMaxArguments; ++i) buffers_[i] = dispatch.buffers[i].begin;
  deadline_ = now() + options.timeout_seconds;
  current_runner = active_runner = this;
}

GroupRunner::~GroupRunner() {
  discard_fibers();
  current_runner = active_runner = nullptr;
}

bool GroupRunner::is_late() const { return now() > deadline_; }

unsigned GroupRunner::lane_count() const { return simdgroups_[running_ / kSimdWidth].lanes; }

void GroupRunner::start_group(const unsigned* group) {
  ThreadContext context{};
  unsigned size[3];
  for (int axis = 0; axis < 3; ++axis) {
    const unsigned whole = dispatch_.threads_per_group[axis], grid = dispatch_.threads_per_grid[axis];
    context.group_in_grid[axis] = group[axis];
    context.threads_per_grid[axis] = grid;
    context.groups_per_grid[axis] = (grid + whole - 1) / whole;
    size[axis] = std::min(whole, grid - group[axis] * whole);
    context.threads_per_group[axis] = size[axis];
  }
  const unsigned count = size[0] * size[1] * size[2];
  context.simdgroups = (count + kSimdWidth - 1) / kSimdWidth;
  threads_.assign(count, Thread{});
  contexts_.resize(count);
  simdgroups_.assign(context.simdgroups, Simdgroup{});
  for (unsigned i = 0; i < count; ++i) {
    const unsigned at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
    for (int axis = 0; axis < 3; ++axis) {
      context.thread_in_group[axis] = at[axis];
      context.thread_in_grid[axis] = group[axis] * dispatch_.threads_per_group[axis] + at[axis];
    }
    context.index_in_group = i;
    context.lane = i % kSimdWidth;
    context.simdgroup = i / kSimdWidth;
    contexts_[i] = context;
    simdgroups_[context.simdgroup].lanes += 1;
  }
  at_barrier_ = 0;
  done_ = 0;
  running_ = 0;
  ++generation_;
  if (checker_) checker_->start_group(*this, count);
  threadgroup_bytes_ = 0;
  for (unsigned i = 0; i < kMaxArguments; ++i) {
    const size_t bytes = dispatch_.threadgroup_bytes[i];
    threadgroup_memory_[i] = bytes ? group_memory(kDynamicMemoryId + i, bytes, "threadgroup argument", 0) : nullptr;
  }
}

std::optional<Fault> GroupRunner::run(const unsigned* group) {
  start_group(group);
  if (fault_) return fault_;
  while (done_ < threads_.size()) {
    bool has_progress = false;
    order_turns();
    for (turn_ = 0; turn_ < turns_.size() && !fault_; ++turn_) {
      if (!can_run(turns_[turn_])) continue;
      has_progress = true;
      resume(turns_[turn_]);
    }
    if (!fault_ && !has_progress) fault_ = stalled();
    if (fault_) {
      discard_fibers();
      if (fault_instruction_) {
        const SourcePosition position = find_source(fault_instruction_);
        fault_->file = position.file;
        fault_->line = position.line;
      }
      return fault_;
    }
  }
  return std::nullopt;
}

void GroupRunner::order_turns() {
  if (turns_.size() == threads_.size() && options_.order != Order::kRandom) return;
  turns_.resize(threads_.size());
  std::iota(turns_.begin(), turns_.end(), 0u);
  if (options_.order == Order::kReverse) std::reverse(turns_.begin(), turns_.end());
  if (options_.order == Order::kRandom) std::shuffle(turns_.begin(), turns_.end(), random_);
}

void GroupRunner::fiber_main() {
  Fiber::enter();
  while (true) {
    GroupRunner* runner = active_runner;
    const Call call{runner->buffers_.data(), runner->threadgroup_memory_.data(), &runner->running_context()};
    runner->dispatch_.kernel->entry(call);
    // The fiber may be reused by another thread now.
    runner->threads_[runner->running_].state = State::kDone;
    runner->suspend();
  }
}

/** Where a thread that can run goes on, with a fiber if it has none yet. */
Context& GroupRunner::ready_context(unsigned index) {
  Thread& thread = threads_[index];
  running_ = index;
  if (!thread.fiber) {
    thread.fiber = fibers_.take();
    thread.fiber->prepare(fiber_main);
  }
  return thread.fiber->context();
}

/** Runs a thread and those whose turns follow, until one ends or fails, or there is none. */
void GroupRunner::resume(unsigned index) {
  Context& context = ready_context(index);
  is_inside_ = true;
  switch_context(scheduler_, context);
  is_inside_ = false;
  Thread& last = threads_[running_];
  if (last.state != State::kDone) return;
  done_ += 1;
  fibers_.give_back(last.fiber);
  last.fiber = nullptr;
}

void GroupRunner::suspend() { switch_context(threads_[running_].fiber->context(), scheduler_); }

/** Goes on with the thread whose turn is next, without the detour of the scheduler. */
void GroupRunner::pass_turn() {
  Context& own = threads_[running_].fiber->context();
  while (++turn_ < turns_.size()) {
    if (can_run(turns_[turn_])) return switch_context(own, ready_context(turns_[turn_]));
  }
  switch_context(own, scheduler_);
}

/**
 * Goes on with the next lane of the running simdgroup, if one can run: a simdgroup then runs to its next barrier while its stacks are in
 * the nearest cache. In random order, any thread may be next.
 */
void GroupRunner::pass_lane() {
  if (options_.order != Order::kRandom) {
    const size_t begin = turn_ - turn_ % kSimdWidth, end = std::min(begin + kSimdWidth, turns_.size());
    size_t next = turn_;
    do {
      if (++next == end) next = begin;
      if (next == turn_) break;
    } while (!can_run(turns_[next]));
    if (next != turn_) {
      turn_ = next;
      return switch_context(threads_[running_].fiber->context(), ready_context(turns_[next]));
    }
  }
  pass_turn();
}

void GroupRunner::block(State state, const char* operation, unsigned line) {
  Thread& thread = threads_[running_];
  thread.state = state;
  thread.operation = operation;
  thread.line = line;
  state == State::kSimd ? pass_lane() : pass_turn();
}

void GroupRunner::barrier(unsigned flags, unsigned line) {
  const unsigned index = running_;
  if (at_barrier_ == 0) barrier_first_ = index;
  const Thread& first = threads_[barrier_first_];
  if (at_barrier_ > 0 && first.line != line) {
    return fail_at_barrier(line);
  }
  at_barrier_ += 1;
  if (at_barrier_ < threads_.size()) return block(State::kBarrier, "threadgroup_barrier", line);
  at_barrier_ = 0;
  for (unsigned i = 0; i < threads_.size(); ++i) {
    if (i != index) threads_[i].state = State::kReady;
  }
  if (checker_) checker_->group_barrier(flags);
}

void GroupRunner::simdgroup_barrier(unsigned flags, unsigned line) {
  const unsigned simdgroup = running_ / kSimdWidth;
  const unsigned waiting = simdgroups_[simdgroup].waiting;
  meet(&threads_[running_], [](void* const*) {}, "simdgroup_barrier", line);
  // The last lane to arrive computes for all.
  if (checker_ && waiting + 1 == simdgroups_[simdgroup].lanes) checker_->simdgroup_barrier(simdgroup, flags);
}

void GroupRunner::meet(void* slot, Combine combine, const char* operation, unsigned line) {
  const unsigned index = running_, own_lane = index % kSimdWidth;
  Simdgroup& simdgroup = simdgroups_[index / kSimdWidth];
  if (simdgroup.waiting == 0) simdgroup.first_waiting = index;
  const Thread& first = threads_[simdgroup.first_waiting];
  if (simdgroup.waiting > 0 && (first.line != line || (first.operation != operation && std::strcmp(first.operation, operation) != 0))) {
    return fail_at_meeting(operation, line);
  }
  simdgroup.slots[own_lane] = slot;
  simdgroup.waiting += 1;
  if (simdgroup.waiting < simdgroup.lanes) return block(State::kSimd, operation, line);
  combine(simdgroup.slots);
  simdgroup.waiting = 0;
  const unsigned begin = index - own_lane;
  for (unsigned i = begin; i < begin + simdgroup.lanes; ++i) {
    simdgroup.slots[i - begin] = nullptr;
    if (i != index) threads_[i].state = State::kReady;
  }
}

// The messages are made apart from what runs millions of times: their variables would widen its stack frame.
void GroupRunner::fail_at_barrier(unsigned line) {
  fail(FaultKind::kDivergence,
       "divergent barrier: thread " + std::to_string(barrier_first_) + " waits in line " + std::to_string(threads_[barrier_first_].line) +
           ", thread " + std::to_string(running_) + " in line " + std::to_string(line),
       line);
}

void GroupRunner::fail_at_meeting(const char* operation, unsigned line) {
  const unsigned index = simdgroups_[running_ / kSimdWidth].first_waiting;
  const Thread& first = threads_[index];
  fail(FaultKind::kDivergence,
       "divergent simdgroup operation: lane " + std::to_string(index % kSimdWidth) + " waits in " + first.operation + ", line " +
           std::to_string(first.line) + ", lane " + std::to_string(running_ % kSimdWidth) + " in " + operation + ", line " +
           std::to_string(line),
       line);
}

char* GroupRunner::group_memory(unsigned id, size_t size, const char* name, unsigned line) {
  Variable& variable = variables_[id];
  if (variable.generation == generation_) return variable.memory.begin();
  const size_t rounded = (size + 15) / 16 * 16;
  threadgroup_bytes_ += rounded;
  if (threadgroup_bytes_ > dispatch_.most_threadgroup_bytes) {
    const std::string message = std::string(name) + " brings threadgroup memory to " + std::to_string(threadgroup_bytes_) +
                                " bytes, expected at most " + std::to_string(dispatch_.most_threadgroup_bytes);
    fault_ = make_fault(FaultKind::kThreadgroupMemory, message, running_, line);
    return nullptr;
  }
  if (!variable.memory || variable.size != size) variable.memory = GuardedMemory(size);
  if (!variable.memory) std::abort();
  variable.size = size;
  variable.generation = generation_;
  std::memset(variable.memory.begin(), kPoison, rounded);
  if (checker_) checker_->add_threadgroup_memory(variable.memory.begin(), size, name);
  return variable.memory.begin();
}

void* GroupRunner::threadgroup_variable(unsigned id, size_t size, const char* name, unsigned line) {
  return group_memory(id, size, name, line);
}

void GroupRunner::atomic_access(unsigned line) {
  if (++atomic_accesses_ % kAtomicsBeforeYield != 0) return;
  if (is_late()) return fail(FaultKind::kDeadlock, "no progress: atomics are polled, and nothing changes", line);
  // A polling thread lets the others continue.
  block(State::kReady, "atomic", line);
}

Fault GroupRunner::stalled() {
  unsigned waiting_barrier = 0, waiting_simd = 0;
  const Thread *barrier = nullptr, *simd = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state == State::kBarrier) {
      ++waiting_barrier;
      barrier = barrier ? barrier : &thread;
    } else if (thread.state == State::kSimd) {
      ++waiting_simd;
      simd = simd ? simd : &thread;
    }
  }
  const Thread& waiting = simd ? *simd : *barrier;
  const auto index = static_cast<unsigned>(&waiting - threads_.data());
  const std::string where = std::string(waiting.operation) + " in line " + std::to_string(waiting.line);
  if (barrier && simd) {
    return make_fault(FaultKind::kDivergence,
                      "divergence: " + std::to_string(waiting_simd) + " threads wait in " + where + ", " + std::to_string(waiting_barrier) +
                          " in threadgroup_barrier in line " + std::to_string(barrier->line),
                      index, waiting.line);
  }
  if (done_ > 0) {
    return make_fault(FaultKind::kEarlyReturn,
                      "early return: " + std::to_string(done_) + " of " + std::to_string(threads_.size()) + " threads have ended, " +
                          std::to_string(waiting_barrier + waiting_simd) + " wait in " + where,
                      index, waiting.line);
  }
  return make_fault(FaultKind::kDeadlock, "deadlock: every thread waits, the first in " + where, index, waiting.line);
}

Fault GroupRunner::make_fault(FaultKind kind, const std::string& message, unsigned thread, unsigned line) const {
  Fault fault{.kind = kind, .kernel = dispatch_.kernel->name, .message = message, .file = {}, .line = line};
  if (thread < contexts_.size()) {
    const ThreadContext& context = contexts_[thread];
    std::copy(context.group_in_grid, context.group_in_grid + 3, fault.group);
    std::copy(context.thread_in_group, context.thread_in_group + 3, fault.thread);
  }
  return fault;
}

void GroupRunner::fail(FaultKind kind, const std::string& message, unsigned line) {
  if (!fault_) fault_ = make_fault(kind, message, running_, line);
}

void GroupRunner::fail_at(FaultKind kind, const std::string& message, const void* instruction) {
  if (fault_) return;
  // A return address belongs to the line after the call.
  fault_instruction_ = static_cast<const char*>(instruction) - 1;
  fail(kind, message, 0);
}

void GroupRunner::record_signal(FaultKind kind, const void* address, const void* instruction) {
  std::string message;
  if (kind == FaultKind::kStackOverflow) {
    message = "stack overflow: more than " + std::to_string(Fiber::kStackBytes / 1024) + " KiB of variables";
  } else if (kind == FaultKind::kArithmetic) {
    message = "integer division by zero";
  } else if (kind == FaultKind::kDeadlock) {
    message = "no progress: the threadgroup runs for more than " + std::to_string(static_cast<long>(options_.timeout_seconds)) + " s";
  } else {
    char text[64];
    std::snprintf(text, sizeof text, "access to address %p, which no buffer has", address);
    message = text;
  }
  fault_ = make_fault(kind, message, running_, 0);
  fault_instruction_ = instruction;
}

void GroupRunner::abandon() {
  // This stack is never resumed: the next user of the fiber resets it.
  suspend();
  __builtin_unreachable();
}

void GroupRunner::discard_fibers() {
  for (Thread& thread : threads_) {
    if (thread.fiber) fibers_.give_back(thread.fiber);
    thread.fiber = nullptr;
  }
}

namespace {

GroupRunner& runner() { return *active_runner; }

}  // namespace

const Runtime* runtime_functions() {
  static const Runtime table = {
      .barrier =
          [](unsigned flags, const char* file, unsigned line) {
            if (runner().is_left_out(file, line)) return;
            runner().barrier(flags, line);
            runner().leave_if_failed();
          },
      .simdgroup_barrier =
          [](unsigned flags, const char* file, unsigned line) {
            if (runner().is_left_out(file, line)) return;
            runner().simdgroup_barrier(flags, line);
            runner().leave_if_failed();
          },
      .meet =
          [](void* slot, Combine combine, const char* operation, unsigned line) {
            runner().meet(slot, combine, operation, line);
            runner().leave_if_failed();
          },
      .threadgroup_variable =
          [](unsigned id, unsigned long size, const char* name, unsigned line) {
            void* memory = runner().threadgroup_variable(id, size, name, line);
            runner().leave_if_failed();
            return memory;
          },
      .atomic_access =
          [](unsigned line) {
            runner().atomic_access(line);
            runner().leave_if_failed();
          },
      .fence =
          [](unsigned flags, const char* file, unsigned line) {
            if (runner().is_left_out(file, line)) return;
            if (runner().checker()) runner().checker()->fence(runner().running_thread(), flags);
          },
      .access =
          [](const volatile void* address, unsigned long size, bool is_write, const void* from) {
            // Constants are set before a kernel runs.
            if (!active_runner || !runner().checker()) return;
            runner().checker()->access(runner(), const_cast<const void*>(address), size, is_write, from);
            runner().leave_if_failed();
          },
      .lane = [] { return runner().lane(); },
      .lane_count = [] { return runner().lane_count(); },
      .thread_index = [] { return runner().running_context().index_in_group; },
      .thread_count = [] { return runner().thread_count(); },
      .refuse =
          [](const char* message, unsigned line) {
            runner().fail(FaultKind::kDivergence, message, line);
            runner().leave_if_failed();
          },
  };
  return &table;
}

}  // namespace msl
