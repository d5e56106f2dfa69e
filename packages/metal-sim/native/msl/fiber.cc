#include "fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__)
#error "msl-cpu switches fibers on x86-64 only"
#endif

extern "C" void msl_switch_stack(void** save, void* load);

// Saves what a call must preserve, changes stacks, and returns on the other one: by a jump, since the processor predicts that a return
// goes back to the last call.
asm(".text\n.globl msl_switch_stack\n.hidden msl_switch_stack\nmsl_switch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\n"
    "mov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
    "pop %rcx\njmp *%rcx\n");

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MSL_HAS_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace msl {

namespace {

/** Bytes between the offsets at which two neighbouring stacks end: an odd number of cache lines. */
constexpr size_t kColorStep = 17 * 64;

}  // namespace

Fiber::Fiber(char* memory, size_t index) : memory_(memory) {
  context_.stack_begin = stack_begin();
  context_.stack_bytes = kStackBytes + index * kColorStep % kColorBytes;
  if (mprotect(stack_begin(), kStackBytes + kColorBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
}

void Fiber::prepare(void (*entry)()) {
  forget_frames();
  auto* top = reinterpret_cast<void**>(stack_end());
  // As after a call of `entry`: the (absent) return address leaves the stack 8 bytes off a multiple of 16.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  context_.stack_pointer = top;
}

#if defined(MSL_HAS_ASAN)
// The sanitizer follows each change of stacks. A fiber that is abandoned never comes back, which it is told as well.
void switch_context(Context& from, const Context& to) {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, to.stack_begin, to.stack_bytes);
  msl_switch_stack(&from.stack_pointer, to.stack_pointer);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

Context Context::of_thread() {
  Context context;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) std::abort();
  void* begin = nullptr;
  pthread_attr_getstack(&attributes, &begin, &context.stack_bytes);
  context.stack_begin = begin;
  pthread_attr_destroy(&attributes);
  return context;
}

void Fiber::forget_frames() { __asan_unpoison_memory_region(stack_begin(), context_.stack_bytes); }

void Fiber::enter() { __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr); }
#else
void switch_context(Context& from, const Context& to) { msl_switch_stack(&from.stack_pointer, to.stack_pointer); }

Context Context::of_thread() { return {}; }

void Fiber::forget_frames() {}

void Fiber::enter() {}
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
    all_.push_back(std::make_unique<Fiber>(memory_ + all_.size() * Fiber::kReservedBytes, all_.size()));
    return all_.back().get();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

}  // namespace msl
