#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi.h"
#include "fault.h"

namespace msl {

class Library;
class MemoryTracker;

/** Memory of an argument, from the bound offset to the buffer's end. */
struct BoundMemory {
  char* begin = nullptr;
  size_t size = 0;
};

/** Values of function constants, by index. */
struct ConstantValue {
  unsigned index;
  std::vector<unsigned char> bytes;
};

/** Bytes that the kernel loaded from an argument that no dispatch of the command buffer writes; see load_counter.h. */
struct ArgumentLoads {
  std::string argument;  ///< "weight at index 3"
  std::string buffer;    ///< label
  uint64_t bytes;
};

/** Threadgroup memory that every Apple GPU has. */
inline constexpr size_t kMaxThreadgroupBytes = 32 * 1024;

/** One launch of a kernel. */
struct Dispatch {
  std::shared_ptr<Library> library;
  const KernelRecord* kernel = nullptr;
  std::vector<ConstantValue> constants;
  std::array<BoundMemory, kMaxArguments> buffers{};
  std::array<size_t, kMaxArguments> threadgroup_bytes{};
  size_t most_threadgroup_bytes = kMaxThreadgroupBytes;  ///< of arguments and variables
  bool barriers_order_all = false;                       ///< every barrier orders device and threadgroup memory, as on NVIDIA GPUs
  unsigned threads_per_group[3] = {1, 1, 1};
  unsigned threads_per_grid[3] = {1, 1, 1};  ///< edge groups are smaller if it is not a multiple
  /** Memory that kernels may access in addition to `buffers`: resident resources, through their addresses. */
  std::vector<BoundMemory> resident;
  /** For libraries with checks: the memory of this and earlier dispatches. */
  MemoryTracker* tracker = nullptr;
  std::vector<ArgumentLoads>* loads = nullptr;  ///< with a tracker: filled when the dispatch ends
};

enum class Order { kForward, kReverse, kRandom };

struct RunOptions {
  Order order = Order::kForward;
  uint64_t seed = 1;
  double timeout_seconds = 120;
  bool needs_outputs = false;  ///< with checks, a writable argument that is not written is a fault
  /** Barriers and fences in this line have no effect: a mutation that tests must detect. Line 0: none is left out. */
  std::string mutated_file;
  unsigned mutated_line = 0;
};

/**
 * From METAL_SIM_ORDER (forward, reverse, random or random:SEED), METAL_SIM_TIMEOUT (seconds), METAL_SIM_OUTPUTS=1 and
 * METAL_SIM_MUTATE=file:line.
 */
RunOptions options_from_environment();

inline constexpr unsigned kMaxThreadsPerGroup = 1024;

/** Runs a dispatch to completion on the calling thread; one at a time per process. */
std::optional<Fault> run(const Dispatch& dispatch, const RunOptions& options);

}  // namespace msl
