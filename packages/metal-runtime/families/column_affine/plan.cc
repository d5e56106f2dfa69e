#include "column_affine_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_column_affine(CommandContext& context) {
  DispatchBuilder dispatch(context, "column_affine", "column_affine");
  dispatch.operands(0, 4);
  dispatch.elements(context.params<ColumnAffineParams>().width);
  return Status::good();
}

}  // namespace markbase::gpu
