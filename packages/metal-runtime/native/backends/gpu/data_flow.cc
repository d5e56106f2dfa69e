#include "data_flow.h"

#include <algorithm>

#include "region_buffer.h"

namespace markbase::gpu {

namespace {

/** A range of bytes that a dispatch reads or writes. */
struct Access {
  const void* memory;
  size_t begin;
  size_t end;
  bool is_written;

  bool conflicts_with(const Access& other) const {
    return memory == other.memory && begin < other.end && other.begin < end && (is_written || other.is_written);
  }
};

/** Identify the arena, the scratch memory and the results, of which a program has one each. */
constexpr char kArenaMemory = 0, kScratchMemory = 0, kStagedMemory = 0, kResultMemory = 0;

const void* memory_of(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer: return static_cast<const RegionBuffer*>(argument.buffer)->identity();
    case Argument::Kind::kArena: return &kArenaMemory;
    case Argument::Kind::kScratch: return &kScratchMemory;
    case Argument::Kind::kStaged: return &kStagedMemory;
    case Argument::Kind::kResult: return &kResultMemory;
    case Argument::Kind::kStep:
    case Argument::Kind::kNothing: break;
  }
  return nullptr;
}

std::vector<Access> accesses_of(const Dispatch& dispatch) {
  std::vector<Access> accesses;
  for (const Argument& argument : dispatch.arguments) {
    const void* memory = memory_of(argument);
    if (!memory || (!argument.is_read && !argument.is_written)) continue;
    accesses.push_back({memory, argument.offset, argument.offset + argument.size_bytes, argument.is_written});
  }
  return accesses;
}

bool conflict(const std::vector<Access>& some, const std::vector<Access>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Access& access) {
    return std::any_of(others.begin(), others.end(), [&](const Access& earlier) { return access.conflicts_with(earlier); });
  });
}

}  // namespace

void place_barriers(std::vector<Dispatch>* dispatches) {
  std::vector<Access> since_barrier;
  for (Dispatch& dispatch : *dispatches) {
    const std::vector<Access> own = accesses_of(dispatch);
    dispatch.needs_barrier = conflict(own, since_barrier);
    if (dispatch.needs_barrier) since_barrier.clear();
    since_barrier.insert(since_barrier.end(), own.begin(), own.end());
  }
}

std::vector<std::vector<size_t>> find_dependencies(const std::vector<Dispatch>& dispatches) {
  const size_t count = dispatches.size();
  std::vector<std::vector<Access>> accesses;
  // All direct and indirect predecessors of a dispatch.
  std::vector<std::vector<bool>> before;
  std::vector<std::vector<size_t>> dependencies(count);
  for (size_t i = 0; i < count; ++i) {
    accesses.push_back(accesses_of(dispatches[i]));
    before.emplace_back(i);
    for (size_t earlier = i; earlier-- > 0;) {
      if (before[i][earlier] || !conflict(accesses[i], accesses[earlier])) continue;
      dependencies[i].push_back(earlier);
      before[i][earlier] = true;
      for (size_t other = 0; other < earlier; ++other) {
        if (before[earlier][other]) before[i][other] = true;
      }
    }
  }
  return dependencies;
}

}  // namespace markbase::gpu
