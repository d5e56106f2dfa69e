#include "conv2d_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_conv2d(CommandContext& context) {
  const auto& p = context.params<Conv2dParams>();
  DispatchBuilder dispatch(context, "conv2d", "conv2d");
  dispatch.operands(0, 4).step(kStepArgument, StepArray::kPosition);
  const uint32_t width = (p.frequencies + 1) / 2 * p.out_channels;
  dispatch.grid(divide_up(width, kRowThreads), p.times / 2, context.rows(), kRowThreads);
  return Status::good();
}

}  // namespace markbase::gpu
