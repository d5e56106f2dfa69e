#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "launch.h"
#include "status.h"

namespace markbase::gpu {

/** Everything about a step that determines its dispatches. */
struct StepShape {
  uint32_t rows[2] = {0, 0};  ///< by RowSet
  uint32_t positions = 0;     ///< the last position of a row, plus 1
  uint32_t lookahead = 0;     ///< maximum number of positions after its own that a row sees (image blocks)
  bool operator==(const StepShape&) const = default;
};

/**
 * Rounds positions up to whole partitions of attention, so that not every token needs a new plan. `positions`: of a StepShape.
 */
inline uint32_t round_positions(uint32_t positions) { return (positions + 255) / 256 * 256; }

/** Arrays of a step that kernels read, in the order of the step's buffer. Arrays of row sets appear twice, by RowSet. */
enum class StepArray : uint32_t {
  kPosition,
  kOutputPosition,
  kSlot,
  kOutputSlot,
  kVisibleEnd,
  kOutputVisibleEnd,
  kTable,
  kToken,
  kLayerToken,
  kSoftIndex,
  kOutputRow,
  kSample,
  kHistoryToken,
  kHistoryCount,
  kBiasToken,
  kBiasValue,
  kAllowedWord,
  kCount,
};

/** The array of a row set. */
inline StepArray of_set(StepArray array, uint32_t row_set) {
  return static_cast<StepArray>(static_cast<uint32_t>(array) + (row_set == kOutputRows ? 1 : 0));
}

/** The memory that an argument of a kernel is bound to. */
struct Argument {
  enum class Kind {
    kNothing,  ///< the kernel does not read it in this dispatch
    kBuffer,   ///< a region of a device buffer
    kArena,
    kScratch,
    kStep,    ///< an array of the step
    kStaged,  ///< in the step's memory: an input or output that is being copied
    kResult,  ///< what the sampler reports, in memory that the host reads
  };
  Kind kind = Kind::kNothing;
  uint32_t index = 0;  ///< [[buffer(index)]]
  const Buffer* buffer = nullptr;
  size_t offset = 0;      ///< bytes, as bound; kBuffer: in its device buffer
  size_t size_bytes = 0;  ///< bytes from the offset on that the dispatch may access
  StepArray array = StepArray::kCount;
  bool is_read = false;
  bool is_written = false;
};

/** One dispatch of a kernel: everything that is encoded for it. */
struct Dispatch {
  std::string source;  ///< the kernel file without its extension
  std::string kernel;  ///< name in that file
  size_t command = 0;  ///< index of its command
  std::vector<std::byte> params;
  Launch launch{};
  std::vector<Argument> arguments;
  uint32_t groups[3] = {1, 1, 1};
  uint32_t threads = 1;            ///< per threadgroup
  uint32_t threadgroup_bytes = 0;  ///< of [[threadgroup(0)]]; 0 = the kernel has none
  bool needs_barrier = false;      ///< earlier dispatches must have finished
};

/** Offsets of the sampler's results in memory that the host reads. */
struct ResultLayout {
  explicit ResultLayout(uint32_t max_outputs);
  size_t tokens;
  size_t logprobs;
  size_t top_tokens;
  size_t top_logprobs;
  size_t size_bytes;
};

/** The dispatches of a step of one shape. */
struct StepPlan {
  StepShape shape;
  std::vector<Dispatch> dispatches;
  size_t scratch_bytes = 0;
};

}  // namespace markbase::gpu
