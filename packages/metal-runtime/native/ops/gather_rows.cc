#include "gather_rows/gather_rows_params.h"

#include "op_call.h"

namespace markbase {

Status lower_gather_rows(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  GatherRowsParams params{};
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  attributes.operands(2);
  out->row_set = kOutputRows;
  out->grid = {context.max_outputs, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
