#include "access_checker.h"

#include <algorithm>

#include "library.h"
#include "threadgroup.h"

namespace msl {
namespace {

constexpr unsigned kDeviceFlag = 1;
constexpr unsigned kThreadgroupFlag = 2;

std::string describe(const Touch& touch) { return "thread " + std::to_string(touch.thread); }

/** Combines a read of a byte with earlier ones. */
Touch with_reader(const Touch& earlier, Touch self) {
  const bool is_same_time = earlier.dispatch == self.dispatch && earlier.group == self.group && earlier.group_clock == self.group_clock;
  if (!is_same_time) return self;
  const bool is_same_simdgroup = earlier.thread / kSimdWidth == self.thread / kSimdWidth;
  if (earlier.by == Touchers::kGroup || !is_same_simdgroup) {
    self.by = Touchers::kGroup;
  } else if (earlier.simdgroup_clock == self.simdgroup_clock) {
    // There was no barrier of the simdgroup in between.
    self.by = earlier.thread == self.thread ? earlier.by : Touchers::kSimdgroup;
  }
  return self;
}

}  // namespace

AccessChecker::AccessChecker(const Dispatch& dispatch, MemoryTracker& tracker)
    : dispatch_(dispatch), tracker_(tracker), serial_(tracker.begin_dispatch(dispatch.kernel->name)) {
  for (unsigned i = 0; i < dispatch.kernel->parameter_count; ++i) {
    const Parameter& parameter = dispatch.kernel->parameters[i];
    if (parameter.kind != ParameterKind::kBuffer) continue;
    const BoundMemory& memory = dispatch.buffers[parameter.index];
    if (memory.begin) {
      regions_.push_back({memory.begin, memory.begin + memory.size, parameter.is_writable,
                          std::string(parameter.name) + " at index " + std::to_string(parameter.index)});
    }
  }
  for (const BoundMemory& memory : dispatch.resident) {
    regions_.push_back({memory.begin, memory.begin + memory.size, true, "a resident buffer"});
  }
}

void AccessChecker::start_group(const GroupRunner& runner, unsigned threads) {
  const size_t simdgroups = (threads + kSimdWidth - 1) / kSimdWidth;
  device_clock_ = {1, std::vector<uint16_t>(simdgroups, 1)};
  group_clock_ = device_clock_;
  is_fenced_.assign(threads, false);
  loads_.start_group(threads);
  const ThreadContext& first = runner.running_context();
  group_ = (first.group_in_grid[2] * first.groups_per_grid[1] + first.group_in_grid[1]) * first.groups_per_grid[0] + first.group_in_grid[0];
}

void AccessChecker::add_threadgroup_memory(const char* begin, size_t size, const char* name) {
  for (GroupMemory& known : group_memory_) {
    if (known.memory->begin() != begin || known.memory->size() != size) continue;
    known.memory->clear();
    return;
  }
  group_memory_.push_back({std::make_unique<TrackedMemory>(begin, size), name});
}

void AccessChecker::group_barrier(unsigned flags) {
  if (dispatch_.barriers_order_all) flags = kDeviceFlag | kThreadgroupFlag;
  for (auto [flag, clock] : {std::pair{kDeviceFlag, &device_clock_}, std::pair{kThreadgroupFlag, &group_clock_}}) {
    if (!(flags & flag)) continue;
    clock->group += 1;
    for (uint16_t& simdgroup : clock->simdgroups) simdgroup += 1;
  }
}

void AccessChecker::simdgroup_barrier(unsigned simdgroup, unsigned flags) {
  if (dispatch_.barriers_order_all) flags = kDeviceFlag | kThreadgroupFlag;
  if (flags & kDeviceFlag) device_clock_.simdgroups[simdgroup] += 1;
  if (flags & kThreadgroupFlag) group_clock_.simdgroups[simdgroup] += 1;
}

void AccessChecker::fence(unsigned thread, unsigned flags) {
  if (flags & kDeviceFlag) is_fenced_[thread] = true;
}

bool AccessChecker::is_ordered(const Touch& earlier, const Clock& clock, uint32_t first_unordered) const {
  if (earlier.dispatch == 0) return true;
  if (earlier.dispatch != serial_) return earlier.dispatch < first_unordered;
  // Atomics with fences may order threadgroups, but this checker does not track which.
  if (earlier.group != group_) return is_fenced_[thread_];
  if (earlier.group_clock < clock.group) return true;
  if (earlier.by == Touchers::kGroup) return false;
  if (earlier.by == Touchers::kThread && earlier.thread == thread_) return true;
  return earlier.thread / kSimdWidth == simdgroup_ && earlier.simdgroup_clock < clock.simdgroups[simdgroup_];
}

/** Arguments may share a buffer: returns the last one that begins at or before the address. */
AccessChecker::Region* AccessChecker::region_of(const char* address) {
  Region* best = nullptr;
  for (Region& region : regions_) {
    if (address >= region.begin && address < region.end && (!best || region.begin > best->begin)) best = &region;
  }
  return best;
}

std::string AccessChecker::name_of(const char* address) {
  for (const GroupMemory& known : group_memory_) {
    if (known.memory->contains(address)) return known.name + " + " + std::to_string(address - known.memory->begin());
  }
  const Region* best = region_of(address);
  return best ? best->name + " + " + std::to_string(address - best->begin) : "memory";
}

void AccessChecker::check_bounds(GroupRunner& runner, const char* address, size_t size, bool is_write, const void* from) {
  bool is_inside = false;
  Region* written = nullptr;
  for (Region& region : regions_) {
    if (address < region.begin || address + size > region.end) continue;
    is_inside = true;
    if (region.is_writable && (!written || region.begin > written->begin)) written = &region;
  }
  if (is_inside && !is_write) return;
  if (written) {
    written->was_written = true;
    return;
  }
  const std::string what = std::string(is_write ? "write" : "read") + " of " + std::to_string(size) + " bytes";
  if (is_inside) return runner.fail_at(FaultKind::kAddress, what + " at " + name_of(address) + ", which is read-only", from);
  if (!is_write && dispatch_.library->contains(address)) return;
  std::string nearest = "address outside every argument";
  ptrdiff_t distance = PTRDIFF_MAX;
  for (const Region& region : regions_) {
    const ptrdiff_t after = address + size - region.end, before = region.begin - address;
    const ptrdiff_t away = std::max(after, before);
    if (away >= distance) continue;
    distance = away;
    nearest = std::to_string(away) + " bytes " + (after > before ? "after the end" : "before the start") + " of " + region.name + " (" +
              std::to_string(region.end - region.begin) + " bytes)";
  }
  runner.fail_at(FaultKind::kAddress, what + ", " + nearest, from);
}

void AccessChecker::check_order(
    GroupRunner& runner, TrackedMemory& memory, const Clock& clock, const char* address, size_t size, bool is_write, const void* from) {
  const Touch self{serial_, group_, thread_, clock.group, clock.simdgroups[simdgroup_]};
  for (size_t i = 0; i < size; ++i) {
    ByteState& byte = memory.at(address + i);
    const bool is_after_write = is_ordered(byte.write, clock, memory.first_unordered);
    const bool is_after_read = !is_write || is_ordered(byte.read, clock, memory.first_unordered);
    if (!is_after_write || !is_after_read) {
      const Touch& other = is_after_write ? byte.read : byte.write;
      const std::string verb = is_after_write ? "read" : "wrote";
      const std::string what = std::string(is_write ? "writes " : "reads ") + name_of(address + i);
      if (other.dispatch != serial_) {
        return runner.fail_at(FaultKind::kRace,
                              "hazard: " + what + ", which the earlier dispatch of " + tracker_.name_of(other.dispatch) + " " + verb +
                                  ", without a memory barrier",
                              from);
      }
      const std::string whose = other.group == group_ ? "" : " of another threadgroup (" + std::to_string(other.group) + ")";
      return runner.fail_at(FaultKind::kRace, "race: " + what + ", which " + describe(other) + whose + " " + verb + ", without a barrier",
                            from);
    }
    if (is_write) {
      byte.write = self;
      continue;
    }
    byte.read = with_reader(byte.read, self);
  }
}

void AccessChecker::access(GroupRunner& runner, const void* raw_address, size_t size, bool is_write, const void* from) {
  const auto* address = static_cast<const char*>(raw_address);
  if (runner.is_stack(address)) return;
  const ThreadContext& context = runner.running_context();
  thread_ = static_cast<uint16_t>(context.index_in_group);
  simdgroup_ = static_cast<uint16_t>(context.simdgroup);
  for (GroupMemory& known : group_memory_) {
    if (!known.memory->contains(address)) continue;
    if (address + size > known.memory->begin() + known.memory->size()) {
      return runner.fail_at(FaultKind::kAddress,
                            "access of " + std::to_string(size) + " bytes at " + name_of(address) + " reaches beyond its end", from);
    }
    return check_order(runner, *known.memory, group_clock_, address, size, is_write, from);
  }
  check_bounds(runner, address, size, is_write, from);
  if (TrackedMemory* memory = tracker_.find_tracked(address)) {
    if (address + size <= memory->begin() + memory->size()) {
      check_order(runner, *memory, device_clock_, address, size, is_write, from);
    }
  } else if (ReadSet* reads = tracker_.find_counted(address)) {
    reads->add(address, size);
    if (Region* region = region_of(address)) {
      region->counted = reads;
      loads_.add(context.index_in_group, from, &region->loaded_bytes, address, size);
    }
  }
}

void AccessChecker::end_dispatch(std::vector<ArgumentLoads>* loads) {
  loads_.book();
  for (const Region& region : regions_) {
    if (region.counted) loads->push_back({region.name, region.counted->label(), region.loaded_bytes});
  }
  tracker_.end_dispatch();
}

std::vector<std::string> AccessChecker::unwritten_outputs() const {
  std::vector<std::string> names;
  for (const Region& region : regions_) {
    if (region.is_writable && !region.was_written && region.name != "a resident buffer") names.push_back(region.name);
  }
  return names;
}

}  // namespace msl
