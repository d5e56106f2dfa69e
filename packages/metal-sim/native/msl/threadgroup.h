#pragma once

#include <csignal>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dispatch.h"
#include "fiber.h"
#include "guarded_memory.h"

namespace msl {

class AccessChecker;

/** Executes threadgroups of one dispatch: one fiber per thread, switched where threads wait for each other. */
class GroupRunner {
 public:
  GroupRunner(const Dispatch& dispatch, const RunOptions& options);
  ~GroupRunner();

  /** Runs one threadgroup to completion. */
  std::optional<Fault> run(const unsigned* group);

  /** The runner whose kernel the calling thread executes, or null. */
  static GroupRunner* current();

  // Called by kernels, inside a fiber.
  void barrier(unsigned flags, unsigned line);
  void simdgroup_barrier(unsigned flags, unsigned line);
  void meet(void* slot, Combine combine, const char* operation, unsigned line);
  void* threadgroup_variable(unsigned id, size_t size, const char* name, unsigned line);
  void atomic_access(unsigned line);
  /** True for barriers and fences that this run's mutation leaves out. */
  bool is_left_out(const char* file, unsigned line) const { return line == options_.mutated_line && options_.mutated_file == file; }
  unsigned lane() const { return running_ % kSimdWidth; }
  unsigned lane_count() const;
  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()); }

  /** Records a fault of the running thread, which stops at the next leave_if_failed. */
  void fail(FaultKind kind, const std::string& message, unsigned line);
  /** The same, with the line of an instruction. */
  void fail_at(FaultKind kind, const std::string& message, const void* instruction);
  /** Every function that kernels call ends with it, so that no frame of the runtime is left on an abandoned stack. */
  void leave_if_failed() {
    if (fault_) abandon();
  }

  /** For signal handlers: remembers a fault; the thread is then sent to abandon(). */
  void record_signal(FaultKind kind, const void* address, const void* instruction);
  [[noreturn]] void abandon();
  Fiber* running_fiber() const { return running_ < threads_.size() ? threads_[running_].fiber : nullptr; }
  bool is_inside() const { return is_inside_; }
  bool is_late() const;
  /** For signal handlers: true if atomics were accessed since the last check. A polling thread reports the timeout itself. */
  bool has_accessed_atomics() { return std::exchange(atomic_accesses_at_last_look_, atomic_accesses_) != atomic_accesses_; }
  bool is_stack(const void* address) const { return fibers_.contains(address); }

  unsigned running_thread() const { return running_; }
  const ThreadContext& running_context() const { return contexts_[running_]; }
  AccessChecker* checker() const { return checker_; }
  void set_checker(AccessChecker* checker) { checker_ = checker; }
  const Dispatch& dispatch() const { return dispatch_; }

 private:
  enum class State { kNew, kReady, kBarrier, kSimd, kDone };

  /** What is read at each change of threads, apart from their contexts: it stays in the nearest cache. */
  struct Thread {
    State state = State::kNew;
    unsigned line = 0;
    const char* operation = "";
    Fiber* fiber = nullptr;
  };

  struct Simdgroup {
    void* slots[kSimdWidth] = {};
    unsigned waiting = 0;
    unsigned lanes = 0;
    unsigned first_waiting = 0;
  };

  struct Variable {
    GuardedMemory memory;
    size_t size = 0;
    unsigned generation = 0;
  };

  static void fiber_main();
  void start_group(const unsigned* group);
  void resume(unsigned index);
  bool can_run(unsigned index) const { return threads_[index].state == State::kNew || threads_[index].state == State::kReady; }
  Context& ready_context(unsigned index);
  void suspend();
  void pass_turn();
  void pass_lane();
  void block(State state, const char* operation, unsigned line);
  void order_turns();
  [[gnu::noinline]] void fail_at_barrier(unsigned line);
  [[gnu::noinline]] void fail_at_meeting(const char* operation, unsigned line);
  Fault stalled();
  Fault make_fault(FaultKind kind, const std::string& message, unsigned thread, unsigned line) const;
  void discard_fibers();
  char* group_memory(unsigned id, size_t size, const char* name, unsigned line);

  const Dispatch& dispatch_;
  const RunOptions& options_;
  FiberPool& fibers_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<ThreadContext> contexts_;
  std::vector<Simdgroup> simdgroups_;
  /** Threads in the order of their turns, and whose turn it is. */
  std::vector<unsigned> turns_;
  size_t turn_ = 0;
  std::map<unsigned, Variable> variables_;
  std::array<void*, kMaxArguments> buffers_{};
  std::array<void*, kMaxArguments> threadgroup_memory_{};
  unsigned at_barrier_ = 0;
  unsigned barrier_first_ = 0;
  unsigned done_ = 0;
  unsigned running_ = 0;
  unsigned generation_ = 0;
  unsigned long atomic_accesses_ = 0;
  unsigned long atomic_accesses_at_last_look_ = 0;
  size_t threadgroup_bytes_ = 0;
  Context scheduler_ = Context::of_thread();
  std::optional<Fault> fault_;
  const void* fault_instruction_ = nullptr;
  double deadline_ = 0;
  volatile bool is_inside_ = false;
  AccessChecker* checker_ = nullptr;
};

/** The function table that libraries are bound to. */
const Runtime* runtime_functions();

}  // namespace msl
