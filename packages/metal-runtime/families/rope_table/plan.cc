#include "rope_table_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_rope_table(CommandContext& context) {
  const auto& p = context.params<RopeTableParams>();
  DispatchBuilder dispatch(context, "rope_table", "rope_table");
  dispatch.operands(0, 2).step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.elements(p.pairs);
  return Status::good();
}

}  // namespace markbase::gpu
