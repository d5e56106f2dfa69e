#include "causal_conv_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_causal_conv(CommandContext& context) {
  DispatchBuilder dispatch(context, "causal_conv", "causal_conv");
  dispatch.operands(0, 3).step(kStepArgument, StepArray::kPosition);
  dispatch.elements(context.params<CausalConvParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
