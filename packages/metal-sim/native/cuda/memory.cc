// The GPU's memory and pinned memory: guarded pages of the host, poisoned on allocation.
#include "memory.h"

#include <cstring>
#include <map>
#include <mutex>

#include "../msl/guarded_memory.h"

namespace cuda_sim {
namespace {

struct Allocation {
  msl::GuardedMemory memory;
  size_t size;
};

/** Allocations by start address. */
class Table {
 public:
  char* add(size_t size) {
    msl::GuardedMemory memory(size, 256);
    if (!memory) return nullptr;
    char* begin = memory.begin();
    // Unwritten memory is NaN. Large allocations are left untouched, so that a test does not need all of the memory.
    std::memset(begin, msl::kPoison, size < kPoisonedBytes ? size : kPoisonedBytes);
    const std::lock_guard lock(mutex_);
    allocations_.emplace(begin, Allocation{std::move(memory), size});
    return begin;
  }
  /** Number of bytes freed, or 0. */
  size_t remove(const void* begin) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(static_cast<const char*>(begin));
    if (found == allocations_.end()) return 0;
    const size_t size = found->second.size;
    allocations_.erase(found);
    return size;
  }
  Span find(const void* address) {
    const auto* at = static_cast<const char*>(address);
    const std::lock_guard lock(mutex_);
    auto next = allocations_.upper_bound(at);
    if (next == allocations_.begin()) return {};
    --next;
    const size_t offset = static_cast<size_t>(at - next->first);
    if (offset >= next->second.size) return {};
    return {const_cast<char*>(at), next->second.size - offset};
  }

 private:
  static constexpr size_t kPoisonedBytes = size_t{80} << 20;
  std::mutex mutex_;
  std::map<const char*, Allocation> allocations_;
};

Table& device_table() {
  static auto* table = new Table;
  return *table;
}

Table& host_table() {
  static auto* table = new Table;
  return *table;
}

uint64_t total_memory() { return setting("CUDA_SIM_MEMORY", uint64_t{16} << 30); }

}  // namespace

Result allocate_device(uint64_t* address, size_t size) {
  if (size == 0) return misuse(kInvalidValue, "cuMemAlloc of 0 bytes");
  if (state().takes_failure(kCudaSimNoMemory)) return kOutOfMemory;
  if (state().allocated_bytes + size > total_memory()) return kOutOfMemory;
  char* begin = device_table().add(size);
  if (!begin) return kOutOfMemory;
  state().allocations += 1;
  state().live_objects += 1;
  state().allocated_bytes += size;
  *address = reinterpret_cast<uint64_t>(begin);
  return kSuccess;
}

Result free_device(uint64_t address) {
  const size_t size = device_table().remove(reinterpret_cast<const void*>(address));
  if (size == 0) return misuse(kInvalidValue, "cuMemFree of an address that cuMemAlloc did not return");
  state().live_objects -= 1;
  state().allocated_bytes -= size;
  return kSuccess;
}

void free_and_total(size_t* free_bytes, size_t* total_bytes) {
  *total_bytes = total_memory();
  *free_bytes = *total_bytes > state().allocated_bytes ? *total_bytes - state().allocated_bytes : 0;
}

Span device_memory(uint64_t address) { return device_table().find(reinterpret_cast<const void*>(address)); }

Result allocate_host(void** memory, size_t size) {
  if (state().takes_failure(kCudaSimNoHostMemory)) return kOutOfMemory;
  *memory = host_table().add(size);
  if (!*memory) return kOutOfMemory;
  state().live_objects += 1;
  return kSuccess;
}

Result free_host(void* memory) {
  if (host_table().remove(memory) == 0) return misuse(kInvalidValue, "cuMemFreeHost of memory that is not pinned");
  state().live_objects -= 1;
  return kSuccess;
}

bool is_pinned(const void* memory, size_t size) { return host_table().find(memory).size >= size; }

}  // namespace cuda_sim
