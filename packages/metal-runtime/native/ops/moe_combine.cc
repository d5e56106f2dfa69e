#include "moe_combine/moe_combine_params.h"

#include "op_call.h"

namespace markbase {

Status lower_moe_combine(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  MoeCombineParams params{};
  params.row_set = attributes.u32("rowSet");
  params.top_k = attributes.u32("topK");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.shares_stride = attributes.u32("sharesStride");
  params.y_stride = attributes.u32("yStride");
  attributes.operands(3);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
