#include "rope_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_rope(CommandContext& context) {
  const auto& p = context.params<RopeParams>();
  DispatchBuilder dispatch(context, "rope", "rope");
  dispatch.operands(0, 3);
  dispatch.elements(p.heads * p.axes * (p.width / p.axes / 2));
  return Status::good();
}

}  // namespace markbase::gpu
