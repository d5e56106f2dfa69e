#include "adapter_linear_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_adapter_linear(CommandContext& context) {
  const auto& p = context.params<AdapterLinearParams>();
  const uint32_t groups = divide_up(p.out_width, kRowThreads / kLanes);
  DispatchBuilder(context, "adapter_linear", "adapter_linear").operands(0, 5).grid(groups, context.rows(), 1, kRowThreads);
  return Status::good();
}

}  // namespace markbase::gpu
