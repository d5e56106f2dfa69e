#include "linear/linear_params.h"

#include "op_call.h"

namespace markbase {

namespace {

constexpr uint32_t kMaxWeights = 3;
constexpr size_t kFixedOperands = 6;  ///< x, residual, residual gain, h, norm gain, epilogue operand

LinearWeightParams weight_params(Attributes& attributes, const std::string& prefix) {
  LinearWeightParams weight{};
  weight.out = attributes.u32(prefix + "out");
  weight.format = attributes.u32(prefix + "format");
  weight.bits = attributes.u32(prefix + "bits");
  weight.group = attributes.u32(prefix + "group");
  weight.scale_type = attributes.u32(prefix + "scaleType");
  weight.y_stride = attributes.u32(prefix + "yStride");
  weight.has_clip = attributes.u32(prefix + "hasClip");
  weight.input_low = attributes.f32(prefix + "inputLow");
  weight.input_high = attributes.f32(prefix + "inputHigh");
  weight.output_low = attributes.f32(prefix + "outputLow");
  weight.output_high = attributes.f32(prefix + "outputHigh");
  return weight;
}

}  // namespace

Status lower_linear(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  LinearParams params{};
  params.row_set = attributes.u32("rowSet");
  params.gathers = attributes.u32("gathers");
  params.in = attributes.u32("in");
  params.weights = attributes.u32("weights");
  params.is_fast = attributes.u32("isFast");
  params.has_few_rows = attributes.u32("hasFewRows");
  params.x_stride = attributes.u32("xStride");
  params.has_residual = attributes.u32("hasResidual");
  params.residual_stride = attributes.u32("residualStride");
  params.h_stride = attributes.u32("hStride");
  params.residual_gain_type = attributes.u32("residualGainType");
  params.has_norm = attributes.u32("hasNorm");
  params.norm_gain_type = attributes.u32("normGainType");
  params.epilogue = attributes.u32("epilogue");
  params.operand_stride = attributes.u32("operandStride");
  params.eps = attributes.f32("eps");
  params.residual_scale = attributes.f32("residualScale");
  params.cap = attributes.f32("cap");
  if (params.weights < 1 || params.weights > kMaxWeights) {
    return Status::error(StatusCode::kInvalidArgument, call.label + ": weights", "1 to 3 weights");
  }
  uint32_t columns = 0;
  for (uint32_t i = 0; i < params.weights; ++i) {
    params.weight[i] = weight_params(attributes, "weight" + std::to_string(i) + ".");
    columns += params.weight[i].out;
    const std::string name = format_name(params.weight[i].format, params.weight[i].bits, params.weight[i].group);
    if (i == 0) out->kernel.variant = name;
    else if (out->kernel.variant != name) out->kernel.variant = "mixed";
  }
  const bool has_one_output = params.epilogue != kLinearStore;
  attributes.operands(kFixedOperands + 3 * params.weights + (has_one_output ? 1 : params.weights));
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), columns};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
