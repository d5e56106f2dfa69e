#include "rope_table/rope_table_params.h"

#include "op_call.h"

namespace markbase {

Status lower_rope_table(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  RopeTableParams params{};
  params.row_set = attributes.u32("rowSet");
  params.pairs = attributes.u32("pairs");
  attributes.operands(2);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.pairs};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
