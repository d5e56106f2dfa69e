#include "conv2d/conv2d_params.h"

#include "op_call.h"

namespace markbase {

Status lower_conv2d(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  Conv2dParams params{};
  params.times = attributes.u32("times");
  params.frequencies = attributes.u32("frequencies");
  params.in_channels = attributes.u32("inChannels");
  params.out_channels = attributes.u32("outChannels");
  params.x_stride = attributes.u32("xStride");
  params.mask_stride = attributes.u32("maskStride");
  params.mask_step = attributes.u32("maskStep");
  params.y_stride = attributes.u32("yStride");
  attributes.operands(4);
  out->row_set = kAllRows;
  out->grid = {context.max_rows * params.times / 2, (params.frequencies + 1) / 2 * params.out_channels};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
