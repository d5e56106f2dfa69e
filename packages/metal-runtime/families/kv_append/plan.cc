#include "kv_append_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_kv_append(CommandContext& context) {
  const auto& p = context.params<KvAppendParams>();
  DispatchBuilder dispatch(context, "kv_append", "kv_append");
  dispatch.operands(0, 4);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch.elements(p.kv_heads * p.width);
  return Status::good();
}

}  // namespace markbase::gpu
