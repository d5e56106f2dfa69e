#include "rms_norm_params.h"

#include "step_planner.h"

namespace markbase::gpu {

Status plan_rms_norm(CommandContext& context) {
  const auto& p = context.params<RmsNormParams>();
  const uint32_t threads = p.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  DispatchBuilder(context, "rms_norm", "rms_norm").operands(0, 4).grid(p.groups, context.rows(), 1, threads);
  return Status::good();
}

}  // namespace markbase::gpu
