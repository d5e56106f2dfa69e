#include "moe_route.h"

namespace markbase {

Status lower_moe_route(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  const MoeRouteParams params = read_routing(attributes);
  attributes.operands(4);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.experts};
  set_params(out, params);
  if (!attributes.status().ok()) return attributes.status();
  return check_routing(call, params);
}

}  // namespace markbase
