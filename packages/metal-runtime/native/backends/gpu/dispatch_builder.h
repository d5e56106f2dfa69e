#pragma once

#include "dispatch.h"

namespace markbase::gpu {

/** Index of the first operand among a kernel's buffers, after the parameters and Launch. */
inline constexpr uint32_t kFirstOperand = 2;

/** Indices of scratch memory, and of the arrays of the step. */
inline constexpr uint32_t kScratchArgument = 22;
inline constexpr uint32_t kStepArgument = 24;

/** The tables of the caches follow positions, slots and visible ends. */
inline constexpr uint32_t kTableArgument = kStepArgument + 3;

/** Threads of a threadgroup that works on a row, and of a simdgroup; kRowThreads and kLanes of metal_math.h. */
inline constexpr uint32_t kRowThreads = 256;
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kRowSimdgroups = kRowThreads / kLanes;

/** Vectors up to this width are summed by one simdgroup; kSimdgroupWidth of metal_math.h. */
inline constexpr uint32_t kSimdgroupWidth = 1024;

/** Threadgroup memory of every Apple GPU, minus what kernels declare themselves. */
inline constexpr uint32_t kMaxSharedRowBytes = 30 * 1024;

inline uint32_t divide_up(uint32_t a, uint32_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/**
 * Bytes of counters at the beginning of the scratch memory, zero before and after every dispatch. Only on NVIDIA GPUs, where threadgroups
 * count to find out which one finishes last.
 */
inline constexpr size_t kCounterBytes = 16 * 1024;

/** Scratch memory of one command; the next one may overwrite it. */
class Scratch {
 public:
  explicit Scratch(size_t counter_bytes = 0) : next_(counter_bytes) {}
  /** Bytes from the beginning of the scratch memory. */
  size_t take(size_t bytes) {
    const size_t offset = next_;
    next_ += (bytes + 255) / 256 * 256;
    return offset;
  }
  size_t size_bytes() const { return next_; }

 private:
  size_t next_;
};

/** The traits of a GPU that plans depend on. */
struct GpuTraits {
  uint32_t multiprocessors = 0;  ///< of an NVIDIA GPU, which runs *_nvidia.metal on its tensor cores; 0: another GPU
  uint32_t shared_bytes = 0;     ///< of an NVIDIA GPU: maximum threadgroup memory of a threadgroup
  bool has_warpgroups = false;   ///< an NVIDIA GPU of compute capability 9.x, which has wgmma
  uint32_t wide_tile = 0;        ///< for tests: the only tile used for many rows, where possible; see wide_tile_named
  bool has_tensor_cores() const { return multiprocessors > 0; }
};

/** The context of planning one command. */
struct CommandContext {
  const Command& command;
  size_t index;  ///< of the command
  StepShape shape;
  GpuTraits traits{};
  Scratch scratch{};
  std::vector<Dispatch>* out;

  uint32_t rows() const { return shape.rows[command.row_set]; }
  template <typename Params>
  const Params& params() const {
    return command.params_as<Params>();
  }
};

/** Largest power of two, up to 16, that divides a number of bytes; 16 for 0. */
inline uint32_t alignment_of(size_t bytes) {
  const size_t lowest = bytes & (~bytes + 1);
  return lowest == 0 || lowest > 16 ? 16 : static_cast<uint32_t>(lowest);
}

/** Offset of an operand in its device buffer or in the arena. */
size_t operand_offset(const Command& command, uint32_t operand);

/** True when an operand begins at a multiple of 16 bytes. */
inline bool is_aligned(const CommandContext& context, uint32_t operand) { return operand_offset(context.command, operand) % 16 == 0; }

/** Builds one dispatch and appends it when it goes out of scope. */
class DispatchBuilder {
 public:
  /** With the parameters of the command. */
  DispatchBuilder(CommandContext& context, std::string source, std::string kernel);
  ~DispatchBuilder() { context_.out->push_back(std::move(dispatch_)); }
  DispatchBuilder(const DispatchBuilder&) = delete;
  DispatchBuilder& operator=(const DispatchBuilder&) = delete;

  template <typename Params>
  DispatchBuilder& params(const Params& params) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&params);
    dispatch_.params.assign(bytes, bytes + sizeof(Params));
    return *this;
  }
  Launch& launch() { return dispatch_.launch; }

  /**
   * Binds an operand of the command; buffers at a multiple of 16 bytes, with the remainder in Launch::shift. Without an argument index,
   * operand i is argument 2 + i. `shift_slot`: entry of Launch::shift, by default the operand's index.
   */
  DispatchBuilder& operand(uint32_t operand) { return this->operand(operand, operand + kFirstOperand, operand); }
  DispatchBuilder& operand(uint32_t operand, uint32_t argument, uint32_t shift_slot) {
    return operand_of(context_.command, operand, argument, shift_slot);
  }
  /** The same for another command whose work the dispatch includes. */
  DispatchBuilder& operand_of(const Command& command, uint32_t operand, uint32_t argument, uint32_t shift_slot);
  /** Binds an output of the command for reading, after an earlier dispatch of the command has written it; in the arena. */
  DispatchBuilder& read(uint32_t operand, uint32_t argument);
  /** Binds operands [first, last). */
  DispatchBuilder& operands(uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; ++i) operand(i);
    return *this;
  }
  DispatchBuilder& nothing(uint32_t argument);
  DispatchBuilder& scratch(uint32_t argument, size_t offset, size_t bytes, bool is_written);
  DispatchBuilder& step(uint32_t argument, StepArray array);
  DispatchBuilder& grid(uint32_t x, uint32_t y, uint32_t z, uint32_t threads);
  /** A grid of one thread per element of [rows, width], with the rows of the command. */
  DispatchBuilder& elements(uint32_t width) { return grid(divide_up(width, kRowThreads), context_.rows(), 1, kRowThreads); }
  DispatchBuilder& shared_row(uint32_t width, uint32_t chunk);
  DispatchBuilder& shared_bytes(uint32_t bytes);

 private:
  CommandContext& context_;
  Dispatch dispatch_;
};

}  // namespace markbase::gpu
