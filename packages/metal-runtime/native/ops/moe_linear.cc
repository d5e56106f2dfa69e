#include "moe_linear/moe_linear_params.h"

#include "moe_route.h"

namespace markbase {

namespace {

constexpr size_t kFixedOperands = 6;  ///< x, norm gain, logits, scale per expert, experts, shares

MoeLinearWeightParams weight_params(Attributes& attributes, const std::string& prefix) {
  MoeLinearWeightParams weight{};
  weight.rows_per_expert = attributes.u32(prefix + "rowsPerExpert");
  weight.first_row = attributes.u32(prefix + "firstRow");
  weight.format = attributes.u32(prefix + "format");
  weight.bits = attributes.u32(prefix + "bits");
  weight.group = attributes.u32(prefix + "group");
  weight.scale_type = attributes.u32(prefix + "scaleType");
  return weight;
}

}  // namespace

Status lower_moe_linear(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  MoeLinearParams params{};
  params.in = attributes.u32("in");
  params.out = attributes.u32("out");
  params.weights = attributes.u32("weights");
  params.is_fast = attributes.u32("isFast");
  params.has_few_rows = attributes.u32("hasFewRows");
  params.x_stride = attributes.u32("xStride");
  params.has_slices = attributes.u32("hasSlices");
  params.has_norm = attributes.u32("hasNorm");
  params.norm_gain_type = attributes.u32("normGainType");
  params.eps = attributes.f32("eps");
  params.has_routing = attributes.u32("hasRouting");
  params.epilogue = attributes.u32("epilogue");
  params.y_stride = attributes.u32("yStride");
  const MoeRouteParams routing = read_routing(attributes);
  params.row_set = routing.row_set;
  params.experts = routing.experts;
  params.top_k = routing.top_k;
  params.logits_stride = routing.logits_stride;
  params.experts_stride = routing.experts_stride;
  params.shares_stride = routing.shares_stride;
  params.scale_type = routing.scale_type;
  params.logit_scale = routing.logit_scale;
  if (params.weights != (params.epilogue == kMoeLinearGeglu ? 2u : 1u)) {
    return Status::error(StatusCode::kInvalidArgument, call.label + ": weights", "2 weights with geglu, otherwise 1");
  }
  for (uint32_t i = 0; i < params.weights; ++i) {
    params.weight[i] = weight_params(attributes, "weight" + std::to_string(i) + ".");
    const std::string name = format_name(params.weight[i].format, params.weight[i].bits, params.weight[i].group);
    if (i == 0) out->kernel.variant = name;
    else if (out->kernel.variant != name) out->kernel.variant = "mixed";
  }
  attributes.operands(kFixedOperands + 3 * params.weights + 1);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set) * params.top_k, params.out * params.weights};
  set_params(out, params);
  if (!attributes.status().ok()) return attributes.status();
  return check_routing(call, routing);
}

}  // namespace markbase
