#include "layer_norm/layer_norm_params.h"

#include "op_call.h"

namespace markbase {

Status lower_layer_norm(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  LayerNormParams params{};
  params.row_set = attributes.u32("rowSet");
  params.groups = attributes.u32("groups");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  params.gain_type = attributes.u32("gainType");
  params.bias_type = attributes.u32("biasType");
  params.has_gain = attributes.u32("hasGain");
  params.has_bias = attributes.u32("hasBias");
  params.eps = attributes.f32("eps");
  attributes.operands(4);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set) * params.groups, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
