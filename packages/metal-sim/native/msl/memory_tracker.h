#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace msl {

/** The threads of a group that an access represents, since the group's last barrier. */
enum class Touchers : uint16_t { kThread, kSimdgroup, kGroup };

/** The last access of a byte: thread, threadgroup and dispatch, and the number of barriers that the thread had passed. */
struct Touch {
  uint32_t dispatch = 0;  ///< 0: none
  uint32_t group = 0;
  uint16_t thread = 0;
  uint16_t group_clock = 0;
  uint16_t simdgroup_clock = 0;
  Touchers by = Touchers::kThread;  ///< for reads: several threads of one simdgroup, or of several
};

/** State of one byte. */
struct ByteState {
  Touch write;
  Touch read;
};

/** State of every byte of a range of memory; its pages are allocated on first use. */
class TrackedMemory {
 public:
  TrackedMemory(const char* begin, size_t size);
  ~TrackedMemory();
  TrackedMemory(const TrackedMemory&) = delete;
  TrackedMemory& operator=(const TrackedMemory&) = delete;

  bool contains(const void* address) const { return address >= begin_ && address < begin_ + size_; }
  ByteState& at(const char* address) { return bytes_[address - begin_]; }
  const char* begin() const { return begin_; }
  size_t size() const { return size_; }
  void clear();

  /** Dispatches before this one have finished as far as this memory is concerned. */
  uint32_t first_unordered = 1;

 private:
  const char* begin_;
  size_t size_;
  ByteState* bytes_;
};

/** Counts reads of memory that is only read. */
class ReadSet {
 public:
  ReadSet(const char* begin, size_t size, std::string label) : begin_(begin), bits_((size + 63) / 64), label_(std::move(label)) {}
  bool contains(const void* address) const { return address >= begin_ && address < begin_ + 64 * bits_.size(); }
  void add(const char* address, size_t size);
  void end_dispatch();
  const char* begin() const { return begin_; }
  const std::string& label() const { return label_; }
  /** Each byte counts once per dispatch. */
  uint64_t read_bytes() const { return read_bytes_; }

 private:
  const char* begin_;
  std::vector<uint64_t> bits_;
  const std::string label_;
  uint64_t read_bytes_ = 0;
  size_t lowest_ = SIZE_MAX;
  size_t highest_ = 0;
};

/** Memory of the dispatches of one command buffer: written memory is tracked, reads of read-only memory are counted. */
class MemoryTracker {
 public:
  /** Memory that at least one dispatch writes. */
  void track(const char* begin, size_t size);
  /** Memory that no dispatch writes; `label` of its buffer. */
  void count(const char* begin, size_t size, const std::string& label);
  TrackedMemory* find_tracked(const void* address);
  ReadSet* find_counted(const void* address);

  uint32_t begin_dispatch(const std::string& name);
  void end_dispatch();
  /** A barrier: earlier dispatches finish before later ones begin, for all memory or for part of it. */
  void barrier();
  void barrier(const char* begin);

  const std::string& name_of(uint32_t dispatch) const { return names_[dispatch - 1]; }
  uint32_t dispatch() const { return static_cast<uint32_t>(names_.size()); }
  const std::vector<std::unique_ptr<ReadSet>>& counted() const { return counted_; }

 private:
  std::vector<std::unique_ptr<TrackedMemory>> tracked_;
  std::vector<std::unique_ptr<ReadSet>> counted_;
  TrackedMemory* last_tracked_ = nullptr;
  ReadSet* last_counted_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace msl
