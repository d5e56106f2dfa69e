#include "step_shape.h"

#include <algorithm>

namespace markbase::gpu {

StepShape shape_of(const StepView& view) {
  StepShape shape;
  for (const uint32_t set : {kAllRows, kOutputRows}) {
    shape.rows[set] = view.rows[set];
    for (uint32_t row = 0; row < view.rows[set]; ++row) {
      const int32_t position = view.position[set][row], end = view.visible_end[set][row];
      shape.positions = std::max(shape.positions, static_cast<uint32_t>(position) + 1);
      if (end > position) shape.lookahead = std::max(shape.lookahead, static_cast<uint32_t>(end - position));
    }
  }
  shape.positions = round_positions(shape.positions);
  return shape;
}

StepShape widest_shape(const ProgramDescription& program) { return {{program.max_rows, program.max_outputs}, round_positions(1), 0}; }

StepShape narrowest_shape(const ProgramDescription& program) { return {{1, std::min(program.max_outputs, 1u)}, round_positions(1), 0}; }

}  // namespace markbase::gpu
