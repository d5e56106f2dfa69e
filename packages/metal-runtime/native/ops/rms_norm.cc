#include "rms_norm/rms_norm_params.h"

#include "op_call.h"

namespace markbase {

Status lower_rms_norm(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  RmsNormParams params{};
  params.row_set = attributes.u32("rowSet");
  params.groups = attributes.u32("groups");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.residual_stride = attributes.u32("residualStride");
  params.y_stride = attributes.u32("yStride");
  params.gain_type = attributes.u32("gainType");
  params.has_gain = attributes.u32("hasGain");
  params.has_residual = attributes.u32("hasResidual");
  params.eps = attributes.f32("eps");
  params.output_scale = attributes.f32("outputScale");
  attributes.operands(4);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set) * params.groups, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
