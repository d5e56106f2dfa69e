#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace msl {

/** A stack with a guard page below it, and the point where its code stopped. */
class Fiber {
 public:
  static constexpr size_t kStackBytes = 256 * 1024;

  /** Bytes of address space that a fiber needs. */
  static constexpr size_t kReservedBytes = kStackBytes + 64 * 1024;

  /** `memory`: kReservedBytes of reserved address space. */
  explicit Fiber(char* memory);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /** The next switch to this fiber calls `entry`, which never returns. */
  void prepare(void (*entry)());
  /** Runs the fiber until it switches back. */
  void resume(void** caller);
  /** The code on its stack was abandoned: clears the sanitizer's marks. */
  void forget_frames();
  /** Must be called first by its entry. */
  void enter();
  /** Called inside the fiber: switches back to its resumer. */
  void suspend(void** caller);

  char* stack_begin() const { return memory_ + kGuardBytes; }
  char* stack_end() const { return memory_ + kGuardBytes + kStackBytes; }
  bool is_guard(const void* address) const { return address >= memory_ && address < stack_begin(); }

 private:
  static constexpr size_t kGuardBytes = kReservedBytes - kStackBytes;
  char* memory_;
  void* stack_pointer_ = nullptr;
  // The resuming stack, for AddressSanitizer.
  [[maybe_unused]] const void* caller_stack_ = nullptr;
  [[maybe_unused]] size_t caller_bytes_ = 0;
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
