#include "pool_rows_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_pool_rows(CommandContext& context) {
  DispatchBuilder dispatch(context, "pool_rows", "pool_rows");
  dispatch.operands(0, 2).step(kStepArgument, StepArray::kOutputRow);
  // The kernel needs to know where the rows end.
  dispatch.launch().parts = context.shape.rows[kAllRows];
  dispatch.elements(context.params<PoolRowsParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
