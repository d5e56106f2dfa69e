#pragma once

#include "moe_route/moe_route_params.h"
#include "op_call.h"

namespace markbase {

/** Reads a routing: the same attributes in moe_route and in a moe_linear that routes itself. */
inline MoeRouteParams read_routing(Attributes& attributes) {
  MoeRouteParams params{};
  params.row_set = attributes.u32("rowSet");
  params.experts = attributes.u32("experts");
  params.top_k = attributes.u32("topK");
  params.logits_stride = attributes.u32("logitsStride");
  params.experts_stride = attributes.u32("expertsStride");
  params.shares_stride = attributes.u32("sharesStride");
  params.scale_type = attributes.u32("scaleType");
  params.logit_scale = attributes.f32("logitScale");
  return params;
}

/** Every row chooses at least one expert, and none twice. */
inline Status check_routing(const OpCall& call, const MoeRouteParams& params) {
  if (params.top_k >= 1 && params.top_k <= params.experts) return Status::good();
  return Status::error(StatusCode::kInvalidArgument, call.label + ": topK",
                       "1 to " + std::to_string(params.experts) + " experts");
}

}  // namespace markbase
