#include "pool_rows/pool_rows_params.h"

#include "op_call.h"

namespace markbase {

Status lower_pool_rows(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  PoolRowsParams params{};
  params.width = attributes.u32("width");
  params.count = attributes.u32("count");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  params.scale = attributes.f32("scale");
  attributes.operands(2);
  out->row_set = kOutputRows;
  out->grid = {context.max_outputs, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
