#include "causal_conv/causal_conv_params.h"

#include "op_call.h"

namespace markbase {

Status lower_causal_conv(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  CausalConvParams params{};
  params.taps = attributes.u32("taps");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  attributes.operands(3);
  out->row_set = kAllRows;
  out->grid = {context.max_rows, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
