#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace msl {

/** A stack, and where the code on it stopped. */
struct Context {
  void* stack_pointer = nullptr;
  // What AddressSanitizer is told about a stack that it is switched to.
  const void* stack_begin = nullptr;
  size_t stack_bytes = 0;

  /** The stack that the calling thread runs on. */
  static Context of_thread();
};

/** Goes on where `to` stopped; returns when something switches back to `from`. */
void switch_context(Context& from, const Context& to);

/** A stack with a guard page below it. */
class Fiber {
 public:
  /** At least this many bytes, and up to kColorBytes more. */
  static constexpr size_t kStackBytes = 256 * 1024;
  static constexpr size_t kColorBytes = 64 * 1024;

  /** Bytes of address space that a fiber needs. */
  static constexpr size_t kReservedBytes = 64 * 1024 + kStackBytes + kColorBytes;

  /**
   * `memory`: kReservedBytes of reserved address space. `index`: of the fiber among its neighbours, whose stacks end at different
   * offsets: with equal ones, their busiest lines would share a few sets of the caches.
   */
  Fiber(char* memory, size_t index);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /** The next switch to this fiber calls `entry`, which never returns. */
  void prepare(void (*entry)());
  /** What ran on its stack was left without returning: the sanitizer's marks of it are void. */
  void forget_frames();
  /** The first thing that its entry calls. */
  static void enter();

  Context& context() { return context_; }
  char* stack_begin() const { return memory_ + kGuardBytes; }
  char* stack_end() const { return stack_begin() + context_.stack_bytes; }
  bool is_guard(const void* address) const { return address >= memory_ && address < stack_begin(); }

 private:
  static constexpr size_t kGuardBytes = kReservedBytes - kStackBytes - kColorBytes;
  char* memory_;
  Context context_;
};

/** Reusable fibers, adjacent in one range of address space. */
class FiberPool {
 public:
  /** The maximum number of threads of a threadgroup. */
  static constexpr size_t kMaxFibers = 1024;

  FiberPool();
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber* take();
  void give_back(Fiber* fiber) { free_.push_back(fiber); }
  bool contains(const void* address) const { return address >= memory_ && address < memory_ + kMaxFibers * Fiber::kReservedBytes; }

 private:
  char* memory_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
};

}  // namespace msl
