#include "kv_copy_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_kv_copy(CommandContext& context) {
  const auto& p = context.params<KvCopyParams>();
  DispatchBuilder dispatch(context, "kv_copy", "kv_copy");
  dispatch.operands(0, 3);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch.elements(p.width);
  return Status::good();
}

}  // namespace markbase::gpu
