#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "buffer.h"
#include "step.h"

namespace markbase {

/** The memory that one operand of a command is bound to. */
struct Binding {
  enum class Kind { kNone, kBuffer, kArena };
  Kind kind = Kind::kNone;
  BufferPtr buffer;         ///< if kBuffer
  size_t arena_offset = 0;  ///< if kArena
  size_t size_bytes = 0;    ///< bytes that the kernel may access
  bool is_output = false;   ///< the command writes it
};

/** Names a kernel: `<family>_<variant>`. */
struct KernelKey {
  std::string family;
  std::string variant;  ///< storage formats, such as "q4g64" or "bf16"; empty when the family has one
  std::string name() const { return variant.empty() ? family : family + "_" + variant; }
};

/** One kernel launch of a program, as every backend sees it. */
struct Command {
  KernelKey kernel;
  std::string label;  ///< layer and operation, for errors
  RowSet row_set = kAllRows;
  std::vector<std::byte> params;  ///< the family's parameter struct
  std::vector<Binding> bindings;

  template <typename Params>
  const Params& params_as() const {
    return *reinterpret_cast<const Params*>(params.data());
  }
};

/**
 * Adjacent commands of a program that may run as one. No other command reads what one of them computes for the next, so that it need not be
 * stored; and no value that one of them writes shares memory with a value that another reads.
 */
struct Merge {
  std::string name;  ///< of its rule in src/recorder/fusions; a backend that does not support it runs the commands one by one
  size_t first;      ///< index of the first command
  size_t count;
};

/** A named tensor [rows, width] in the arena that the caller fills before a step, or reads after it. */
struct Port {
  std::string name;
  size_t arena_offset;
  uint32_t row_set;  ///< a RowSet, or 2: its own number of rows
  uint32_t max_rows;
  uint32_t width;
  uint32_t stride;  ///< elements between two rows
};

/** Arena offsets of the sampler's results. */
struct SamplerPorts {
  size_t tokens;
  size_t logprobs;
  size_t top_tokens;
  size_t top_logprobs;
};

/** A planned program: commands in order, with all offsets assigned. */
struct ProgramDescription {
  std::string label;
  uint32_t max_rows = 0;
  uint32_t max_outputs = 0;
  size_t arena_bytes = 0;
  bool check_finite = false;
  bool measures_time = false;
  std::vector<Command> commands;
  std::vector<Merge> merges;  ///< in the order of their commands; no two merges share a command
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  bool has_sampler = false;
  SamplerPorts sampler{};
};

}  // namespace markbase
