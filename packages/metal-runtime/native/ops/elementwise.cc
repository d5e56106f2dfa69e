#include "elementwise/elementwise_params.h"

#include "op_call.h"

namespace markbase {

Status lower_elementwise(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  ElementwiseParams params{};
  params.op = attributes.u32("op");
  params.row_set = attributes.u32("rowSet");
  params.width = attributes.u32("width");
  params.a_stride = attributes.u32("aStride");
  params.b_stride = attributes.u32("bStride");
  params.y_stride = attributes.u32("yStride");
  params.scale = attributes.f32("scale");
  params.high = attributes.f32("high");
  attributes.operands(3);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
