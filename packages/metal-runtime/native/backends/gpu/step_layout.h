#pragma once

#include <cstddef>
#include <vector>

#include "device.h"
#include "dispatch.h"

namespace markbase::gpu {

/**
 * Layout of the memory that one running step shares with the host: the arrays that kernels read, copied inputs and outputs, the sampler's
 * results, and the first command that wrote a non-finite number. Lists that grow from step to step have rounded capacities, so that the
 * layout stays the same.
 */
class StepLayout {
 public:
  StepLayout() = default;
  StepLayout(const ProgramDescription& program, const StepCall& step);

  size_t offset_of(StepArray array) const { return arrays_[static_cast<size_t>(array)]; }
  /** For an input of bytes: offset of the values that they encode, followed by the bytes. */
  size_t input(size_t index) const { return inputs_[index]; }
  size_t output(size_t index) const { return outputs_[index]; }
  size_t results() const { return results_; }
  size_t first_bad() const { return first_bad_; }
  size_t size_bytes() const { return size_bytes_; }
  /** `fill` writes [0, filled_bytes), `deliver` reads [first_bad, size_bytes). */
  size_t filled_bytes() const { return results_; }

  /** Copies in what kernels read. `memory`: size_bytes bytes. */
  void fill(const ProgramDescription& program, const StepCall& step, std::byte* memory) const;
  /** Copies outputs and results to where the caller wants them. */
  void deliver(const ProgramDescription& program, const StepCall& step, const std::byte* memory) const;
  /** The first command that wrote a non-finite number; UINT32_MAX = none. */
  uint32_t first_bad_command(const std::byte* memory) const;

  bool operator==(const StepLayout&) const = default;

 private:
  size_t arrays_[static_cast<size_t>(StepArray::kCount)] = {};
  std::vector<size_t> inputs_;
  std::vector<size_t> outputs_;
  size_t results_ = 0;
  size_t first_bad_ = 0;
  size_t size_bytes_ = 0;
};

}  // namespace markbase::gpu
