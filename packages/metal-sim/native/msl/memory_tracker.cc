#include "memory_tracker.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace msl {

TrackedMemory::TrackedMemory(const char* begin, size_t size) : begin_(begin), size_(size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, size * sizeof(ByteState), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  // Zero pages are a valid state: nothing was accessed.
  bytes_ = static_cast<ByteState*>(memory);
}

TrackedMemory::~TrackedMemory() { munmap(bytes_, size_ * sizeof(ByteState)); }

void TrackedMemory::clear() { std::fill(bytes_, bytes_ + size_, ByteState{}); }

void ReadSet::add(const char* address, size_t size) {
  const auto first = static_cast<size_t>(address - begin_);
  for (size_t i = first; i < first + size && i / 64 < bits_.size(); ++i) bits_[i / 64] |= 1ull << (i % 64);
  lowest_ = std::min(lowest_, first / 64);
  highest_ = std::max(highest_, (first + size - 1) / 64 + 1);
}

void ReadSet::end_dispatch() {
  for (size_t i = lowest_; i < std::min(highest_, bits_.size()); ++i) {
    read_bytes_ += static_cast<uint64_t>(std::popcount(bits_[i]));
    bits_[i] = 0;
  }
  lowest_ = SIZE_MAX;
  highest_ = 0;
}

void MemoryTracker::track(const char* begin, size_t size) {
  if (find_tracked(begin) == nullptr) tracked_.push_back(std::make_unique<TrackedMemory>(begin, size));
}

void MemoryTracker::count(const char* begin, size_t size, const std::string& label) {
  if (find_tracked(begin) == nullptr && find_counted(begin) == nullptr) {
    counted_.push_back(std::make_unique<ReadSet>(begin, size, label));
  }
}

TrackedMemory* MemoryTracker::find_tracked(const void* address) {
  if (last_tracked_ && last_tracked_->contains(address)) return last_tracked_;
  for (const auto& memory : tracked_) {
    if (memory->contains(address)) return last_tracked_ = memory.get();
  }
  return nullptr;
}

ReadSet* MemoryTracker::find_counted(const void* address) {
  if (last_counted_ && last_counted_->contains(address)) return last_counted_;
  for (const auto& memory : counted_) {
    if (memory->contains(address)) return last_counted_ = memory.get();
  }
  return nullptr;
}

uint32_t MemoryTracker::begin_dispatch(const std::string& name) {
  names_.push_back(name);
  return dispatch();
}

void MemoryTracker::end_dispatch() {
  for (const auto& memory : counted_) memory->end_dispatch();
}

void MemoryTracker::barrier() {
  for (const auto& memory : tracked_) memory->first_unordered = dispatch() + 1;
}

void MemoryTracker::barrier(const char* begin) {
  if (TrackedMemory* memory = find_tracked(begin)) memory->first_unordered = dispatch() + 1;
}

}  // namespace msl
