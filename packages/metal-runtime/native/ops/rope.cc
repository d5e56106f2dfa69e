#include "rope/rope_params.h"

#include "op_call.h"

namespace markbase {

Status lower_rope(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  RopeParams params{};
  params.row_set = attributes.u32("rowSet");
  params.heads = attributes.u32("heads");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  params.axes = attributes.u32("axes");
  attributes.operands(3);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set) * params.heads, params.width / 2};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
