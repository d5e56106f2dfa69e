#include "signals.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "threadgroup.h"

namespace msl {
namespace {

constexpr size_t kSignalStackBytes = 128 * 1024;
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct sigaction previous_actions[64];

int watchdog_signal() { return SIGRTMIN + 5; }

/** Ends the fiber on its own stack, starting at the top, because the contents are no longer needed. */
void abandon_current() { GroupRunner::current()->abandon(); }

void send_to_abandon(ucontext_t* context, const GroupRunner& runner) {
  runner.running_fiber()->forget_frames();
  auto top = reinterpret_cast<uintptr_t>(runner.running_fiber()->stack_end());
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 64 - 8);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&abandon_current);
}

const void* instruction_of(const ucontext_t* context) { return reinterpret_cast<const void*>(context->uc_mcontext.gregs[REG_RIP]); }

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& previous = previous_actions[number];
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(number, info, context);
  if (previous.sa_handler == SIG_IGN) return;
  if (previous.sa_handler != SIG_DFL) return previous.sa_handler(number);
  signal(number, SIG_DFL);  // the instruction faults again and ends the process
}

void handle_fault(int number, siginfo_t* info, void* raw_context) {
  GroupRunner* runner = GroupRunner::current();
  if (!runner || !runner->is_inside() || !runner->running_fiber()) return pass_on(number, info, raw_context);
  auto* context = static_cast<ucontext_t*>(raw_context);
  FaultKind kind = FaultKind::kAddress;
  if (number == SIGFPE || number == SIGILL) kind = FaultKind::kArithmetic;
  if (runner->running_fiber()->is_guard(info->si_addr)) kind = FaultKind::kStackOverflow;
  runner->record_signal(kind, info->si_addr, instruction_of(context));
  send_to_abandon(context, *runner);
}

void handle_watchdog(int, siginfo_t*, void* raw_context) {
  GroupRunner* runner = GroupRunner::current();
  if (!runner || !runner->is_inside() || !runner->running_fiber() || !runner->is_late()) return;
  if (runner->has_accessed_atomics()) return;
  auto* context = static_cast<ucontext_t*>(raw_context);
  // Only inside the kernel's own code: other code may hold a lock.
  Dl_info kernel{}, here{};
  if (!dladdr(reinterpret_cast<const void*>(runner->dispatch().kernel->entry), &kernel)) return;
  if (!dladdr(instruction_of(context), &here) || here.dli_fbase != kernel.dli_fbase) return;
  runner->record_signal(FaultKind::kDeadlock, nullptr, instruction_of(context));
  send_to_abandon(context, *runner);
}

void install_handlers() {
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  // The handler leaves by switching contexts; the signal must stay unblocked for the next fault.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = handle_fault;
  for (int number : kFaults) sigaction(number, &action, &previous_actions[number]);
  action.sa_sigaction = handle_watchdog;
  // Reading the symbolizer's output continues after a wake-up, however slow the machine is.
  action.sa_flags |= SA_RESTART;
  sigaction(watchdog_signal(), &action, nullptr);
}

/** A separate stack for handlers, because the fault may be a stack overflow. One per thread, for its lifetime. */
struct SignalStack {
  void* memory = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SignalStack() {
    stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kSignalStackBytes};
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    stack_t stack{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&stack, nullptr);
    munmap(memory, kSignalStackBytes);
  }
};

/** Wakes a thread whose kernel takes too long. */
class Watchdog {
 public:
  void start(double seconds) {
    std::lock_guard lock(mutex_);
    target_ = pthread_self();
    limit_ = std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    is_armed_ = true;
    if (!is_running_) std::thread([this] { watch(); }).detach();
    is_running_ = true;
  }
  void stop() {
    std::lock_guard lock(mutex_);
    is_armed_ = false;
  }

 private:
  /** Polls occasionally instead of being woken by each of thousands of dispatches. */
  void watch() {
    pthread_setname_np(pthread_self(), "msl-watchdog");
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::lock_guard lock(mutex_);
      if (is_armed_ && std::chrono::steady_clock::now() > limit_) pthread_kill(target_, watchdog_signal());
    }
  }

  std::mutex mutex_;
  pthread_t target_{};
  std::chrono::steady_clock::time_point limit_;
  bool is_armed_ = false;
  bool is_running_ = false;
};

/** Lives as long as the process, because its thread is detached. */
Watchdog& watchdog() {
  static auto* shared = new Watchdog;
  return *shared;
}

}  // namespace

SignalScope::SignalScope(double timeout_seconds) {
  static thread_local SignalStack stack;
  static std::once_flag installed;
  std::call_once(installed, install_handlers);
  watchdog().start(timeout_seconds);
}

SignalScope::~SignalScope() { watchdog().stop(); }

}  // namespace msl
