#pragma once

#include <cstddef>

namespace msl {

/**
 * Memory between inaccessible ranges of several megabytes. Its start is aligned; the size is rounded up to the alignment.
 */
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(size_t size, size_t alignment = 16);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;

  char* begin() const { return begin_; }
  explicit operator bool() const { return mapping_ != nullptr; }

 private:
  char* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  char* begin_ = nullptr;
};

/** Fills fresh memory: every byte is 0xff, which is NaN in every floating-point format. */
inline constexpr int kPoison = 0xff;

}  // namespace msl
