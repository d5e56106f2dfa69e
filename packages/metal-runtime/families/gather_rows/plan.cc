#include "gather_rows_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_gather_rows(CommandContext& context) {
  DispatchBuilder dispatch(context, "gather_rows", "gather_rows");
  dispatch.operands(0, 2).step(kStepArgument, StepArray::kOutputRow);
  dispatch.elements(context.params<GatherRowsParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
