#include "embed_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_embed(CommandContext& context) {
  const auto& p = context.params<EmbedParams>();
  DispatchBuilder dispatch(context, "embed", "embed");
  dispatch.operands(0, 5);
  dispatch.step(kStepArgument, p.is_layer_table != 0 ? StepArray::kLayerToken : StepArray::kToken);
  dispatch.step(kStepArgument + 1, StepArray::kSoftIndex);
  dispatch.elements(p.width);
  return Status::good();
}

}  // namespace markbase::gpu
