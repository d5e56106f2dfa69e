#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "dispatch.h"
#include "load_counter.h"
#include "memory_tracker.h"

namespace msl {

class GroupRunner;

/**
 * Checks every access of a kernel that was compiled with checks: bounds of bindings, races between threads, hazards between dispatches. Two
 * accesses of a byte, one of them a write, must be ordered: between threads of a group by a barrier that names this memory, between
 * dispatches by a memory barrier of the encoder. Nothing orders threadgroups.
 */
class AccessChecker {
 public:
  AccessChecker(const Dispatch& dispatch, MemoryTracker& tracker);

  void start_group(const GroupRunner& runner, unsigned threads);
  void add_threadgroup_memory(const char* begin, size_t size, const char* name);
  void group_barrier(unsigned flags);
  void simdgroup_barrier(unsigned simdgroup, unsigned flags);
  void fence(unsigned thread, unsigned flags);
  void access(GroupRunner& runner, const void* address, size_t size, bool is_write, const void* from);

  /** Called when all threadgroups have run. Adds the loads from each argument that no dispatch writes to `loads`. */
  void end_dispatch(std::vector<ArgumentLoads>* loads);

  /** Outputs that were not written, as "y at index 5". */
  std::vector<std::string> unwritten_outputs() const;

 private:
  /** An argument of the kernel, or resident memory. */
  struct Region {
    const char* begin;
    const char* end;
    bool is_writable;
    std::string name;
    bool was_written = false;
    const ReadSet* counted = nullptr;  ///< memory that no dispatch writes
    uint64_t loaded_bytes = 0;
  };

  /** Barriers that each simdgroup, and the whole group, has passed for one kind of memory. */
  struct Clock {
    uint16_t group = 1;
    std::vector<uint16_t> simdgroups;
  };

  void check_bounds(GroupRunner& runner, const char* address, size_t size, bool is_write, const void* from);
  bool is_ordered(const Touch& earlier, const Clock& clock, uint32_t first_unordered) const;
  void check_order(
      GroupRunner& runner, TrackedMemory& memory, const Clock& clock, const char* address, size_t size, bool is_write, const void* from);
  Region* region_of(const char* address);
  std::string name_of(const char* address);

  const Dispatch& dispatch_;
  MemoryTracker& tracker_;
  uint32_t serial_;
  std::vector<Region> regions_;
  struct GroupMemory {
    std::unique_ptr<TrackedMemory> memory;
    std::string name;
  };
  std::vector<GroupMemory> group_memory_;
  LoadCounter loads_;
  Clock device_clock_;
  Clock group_clock_;
  std::vector<bool> is_fenced_;
  // State of the running thread.
  uint32_t group_ = 0;
  uint16_t thread_ = 0;
  uint16_t simdgroup_ = 0;
};

}  // namespace msl
