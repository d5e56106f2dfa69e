#include "kv_copy/kv_copy_params.h"

#include "op_call.h"

namespace markbase {

Status lower_kv_copy(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  KvCopyParams params{};
  params.row_set = attributes.u32("rowSet");
  params.source_stride = attributes.u32("sourceStride");
  params.width = attributes.u32("width");
  params.slots = attributes.u32("slots");
  params.capacity = attributes.u32("capacity");
  params.cache_type = attributes.u32("cacheType");
  attributes.operands(3);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->kernel.variant = format_name(params.cache_type, 0, 0);
  out->grid = {context.rows_of(params.row_set), params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
