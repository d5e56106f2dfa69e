#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__)
#error "msl-cpu switches fibers on x86-64 only"
#endif

extern "C" void msl_switch_stack(void** save, void* load);

// Saves the registers that a call must preserve, switches stacks, and returns on the other one.
asm(".text\n.globl msl_switch_stack\n.hidden msl_switch_stack\nmsl_switch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\n"
    "mov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
    "ret\n");

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MSL_HAS_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace msl {

Fiber::Fiber(char* memory) : memory_(memory) {
  if (mprotect(stack_begin(), kStackBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
}

void Fiber::prepare(void (*entry)()) {
  forget_frames();
  auto* top = reinterpret_cast<void**>(stack_end());
  // As after a call of `entry`: the (absent) return address leaves the stack 8 bytes off a multiple of 16.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  stack_pointer_ = top;
}

#if defined(MSL_HAS_ASAN)
// The sanitizer must be told about each switch of stacks, and that an abandoned fiber never returns.
void Fiber::resume(void** caller) {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_begin(), kStackBytes);
  msl_switch_stack(caller, stack_pointer_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fiber::forget_frames() { __asan_unpoison_memory_region(stack_begin(), kStackBytes); }

void Fiber::enter() { __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_bytes_); }

void Fiber::suspend(void** caller) {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, caller_stack_, caller_bytes_);
  msl_switch_stack(&stack_pointer_, *caller);
  __sanitizer_finish_switch_fiber(fake_stack, &caller_stack_, &caller_bytes_);
}
#else
void Fiber::resume(void** caller) { msl_switch_stack(caller, stack_pointer_); }

void Fiber::forget_frames() {}

void Fiber::enter() {}

void Fiber::suspend(void** caller) { msl_switch_stack(&stack_pointer_, *caller); }
#endif

FiberPool::FiberPool() {
  const size_t size = kMaxFibers * Fiber::kReservedBytes;
  void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  memory_ = static_cast<char*>(memory);
}

FiberPool::~FiberPool() { munmap(memory_, kMaxFibers * Fiber::kReservedBytes); }

Fiber* FiberPool::take() {
  if (free_.empty()) {
    if (all_.size() == kMaxFibers) std::abort();
    all_.push_back(std::make_unique<Fiber>(memory_ + all_.size() * Fiber::kReservedBytes));
    return all_.back().get();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

}  // namespace msl
