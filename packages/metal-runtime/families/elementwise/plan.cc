#include "elementwise_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_elementwise(CommandContext& context) {
  DispatchBuilder dispatch(context, "elementwise", "elementwise");
  dispatch.operands(0, 3);
  dispatch.elements(context.params<ElementwiseParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
