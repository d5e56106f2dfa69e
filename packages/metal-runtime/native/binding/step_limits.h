#pragma once

#include <vector>

#include "device.h"

namespace markbase {

/** What a step may copy into and out of its program. */
struct StepLimits {
  uint32_t max_rows = 0;
  uint32_t max_outputs = 0;
  bool has_sampler = false;
  std::vector<Port> inputs;
  std::vector<Port> outputs;

  StepLimits() = default;
  explicit StepLimits(const ProgramDescription& program)
      : max_rows(program.max_rows),
        max_outputs(program.max_outputs),
        has_sampler(program.has_sampler),
        inputs(program.inputs),
        outputs(program.outputs) {}
};

}  // namespace markbase
