#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "launch.h"
#include "status.h"

namespace markbase::gpu {

/** Everything about a step that decides which dispatches it has. */
struct StepShape {
  uint32_t rows[2] = {0, 0};  ///< by RowSet
  uint32_t positions = 0;     ///< the last position of a row, plus 1
  uint32_t lookahead = 0;     ///< positions that a row sees behind its own, at most (image blocks)
  bool operator==(const StepShape&) const = default;
};

/**
 * Positions are planned for in steps of a partition of attention, so that not every token makes a plan. `positions`: of a
 * StepShape.
 */
inline uint32_t round_positions(uint32_t positions) { return (positions + 255) / 256 * 256; }

/** Arrays of a step that kernels read, as they lie in the step's buffer. Those of row sets come twice, by RowSet. */
enum class StepArray : uint32_t {
  kPosition,
  kOutputPosition,
  kSlot,
  kOutputSlot,
  kVisibleEnd,
  kOutputVisibleEnd,
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

/** What an argument of a kernel is bound to. */
struct Argument {
  enum class Kind {
    kNothing,  ///< the kernel does not read it in this dispatch
    kBuffer,   ///< a region of a buffer of its own
    kArena,
    kScratch,
    kStep,    ///< an array of the step
    kStaged,  ///< a place in the step's memory: an input or output on its way
    kResult,  ///< what the sampler reports, in memory that the host reads
  };
  Kind kind = Kind::kNothing;
  uint32_t index = 0;  ///< [[buffer(index)]]
  const Buffer* buffer = nullptr;
  size_t offset = 0;      ///< bytes, as bound; kBuffer: in its device buffer
  size_t size_bytes = 0;  ///< bytes from the offset on that the dispatch may touch
  StepArray array = StepArray::kCount;
  bool is_read = false;
  bool is_written = false;
};

/** One dispatch of a kernel: everything that is encoded for it. */
struct Dispatch {
  std::string source;  ///< the kernel file without its extension
  std::string kernel;  ///< name in that file
  size_t command = 0;  ///< index of the command that it belongs to
  std::vector<std::byte> params;
  Launch launch{};
  std::vector<Argument> arguments;
  uint32_t groups[3] = {1, 1, 1};
  uint32_t threads = 1;            ///< a threadgroup
  uint32_t threadgroup_bytes = 0;  ///< of [[threadgroup(0)]]; 0 = the kernel has none
  bool needs_barrier = false;      ///< earlier dispatches must be done
};

/** Where the results of the sampler lie in memory that the host reads. */
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
