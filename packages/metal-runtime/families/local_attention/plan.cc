#include "local_attention_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_local_attention(CommandContext& context) {
  const auto& p = context.params<LocalAttentionParams>();
  DispatchBuilder dispatch(context, "local_attention", "local_attention");
  dispatch.operands(0, 6).step(kStepArgument, StepArray::kPosition);
  dispatch.grid(p.heads, context.rows(), 1, kLanes);
  return Status::good();
}

}  // namespace markbase::gpu
