#include "kv_append/kv_append_params.h"

#include "op_call.h"

namespace markbase {

Status lower_kv_append(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  KvAppendParams params{};
  params.row_set = attributes.u32("rowSet");
  params.kv_heads = attributes.u32("kvHeads");
  params.width = attributes.u32("width");
  params.k_stride = attributes.u32("kStride");
  params.v_stride = attributes.u32("vStride");
  params.capacity = attributes.u32("capacity");
  params.cache_type = attributes.u32("cacheType");
  attributes.operands(4);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->kernel.variant = format_name(params.cache_type, 0, 0);
  out->grid = {context.rows_of(params.row_set), params.kv_heads * params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
