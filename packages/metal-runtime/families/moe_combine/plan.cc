#include "moe_combine_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_moe_combine(CommandContext& context) {
  DispatchBuilder dispatch(context, "moe_combine", "moe_combine");
  dispatch.operands(0, 3);
  dispatch.elements(context.params<MoeCombineParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
