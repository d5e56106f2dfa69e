#include "column_affine/column_affine_params.h"

#include "op_call.h"

namespace markbase {

Status lower_column_affine(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  ColumnAffineParams params{};
  params.row_set = attributes.u32("rowSet");
  params.width = attributes.u32("width");
  params.x_stride = attributes.u32("xStride");
  params.y_stride = attributes.u32("yStride");
  params.shift_type = attributes.u32("shiftType");
  params.gain_type = attributes.u32("gainType");
  params.has_shift = attributes.u32("hasShift");
  params.has_gain = attributes.u32("hasGain");
  params.factor = attributes.f32("factor");
  attributes.operands(4);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
