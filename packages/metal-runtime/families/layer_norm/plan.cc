#include "layer_norm_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_layer_norm(CommandContext& context) {
  const auto& p = context.params<LayerNormParams>();
  const uint32_t threads = p.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  DispatchBuilder(context, "layer_norm", "layer_norm").operands(0, 4).grid(p.groups, context.rows(), 1, threads);
  return Status::good();
}

}  // namespace markbase::gpu
