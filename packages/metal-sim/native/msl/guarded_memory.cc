#include "guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace msl {
namespace {

/** Reserved address space before and after the memory, so that even distant accesses hit no other memory. */
constexpr size_t kGuardBytes = size_t{16} << 20;

size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

GuardedMemory::GuardedMemory(size_t size, size_t alignment) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t aligned = round_up(size ? size : 1, alignment);
  const size_t usable = round_up(aligned, page);
  mapped_bytes_ = kGuardBytes + usable + kGuardBytes;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED || mprotect(static_cast<char*>(mapping) + kGuardBytes, usable, PROT_READ | PROT_WRITE) != 0) {
    if (mapping != MAP_FAILED) munmap(mapping, mapped_bytes_);
    mapped_bytes_ = 0;
    return;
  }
  mapping_ = static_cast<char*>(mapping);
  begin_ = mapping_ + kGuardBytes + usable - aligned;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_) munmap(mapping_, mapped_bytes_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(begin_, other.begin_);
  return *this;
}

}  // namespace msl
