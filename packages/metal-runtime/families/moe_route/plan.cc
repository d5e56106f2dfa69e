#include "moe_route_params.h"

#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** Maximum number of experts that route_row chooses among, and that a row can choose; see metal_route.h. */
constexpr uint32_t kMaxExperts = 1024;
constexpr uint32_t kMaxChosen = 128;

}  // namespace

Status plan_moe_route(CommandContext& context) {
  const auto& p = context.params<MoeRouteParams>();
  if (p.experts > kMaxExperts || p.top_k > kMaxChosen) {
    return unsupported(context.command, "at most 128 of 1024 experts");
  }
  DispatchBuilder(context, "moe_route", "moe_route").operands(0, 4).grid(context.rows(), 1, 1, kLanes);
  return Status::good();
}

}  // namespace markbase::gpu
