#include "attention/attention_params.h"

#include "op_call.h"

namespace markbase {

Status lower_attention(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  AttentionParams params{};
  params.row_set = attributes.u32("rowSet");
  params.heads = attributes.u32("heads");
  params.kv_heads = attributes.u32("kvHeads");
  params.width = attributes.u32("width");
  params.q_stride = attributes.u32("qStride");
  params.k_stride = attributes.u32("kStride");
  params.v_stride = attributes.u32("vStride");
  params.out_stride = attributes.u32("outStride");
  params.capacity = attributes.u32("capacity");
  params.window = attributes.u32("window");
  params.cache_type = attributes.u32("cacheType");
  params.has_prepare = attributes.u32("hasPrepare");
  params.has_kv = attributes.u32("hasKv");
  params.gain_type = attributes.u32("gainType");
  params.eps = attributes.f32("eps");
  params.is_fast = attributes.u32("isFast");
  params.has_few_rows = attributes.u32("hasFewRows");
  attributes.operands(9);
  out->row_set = static_cast<RowSet>(params.row_set);
  out->kernel.variant = format_name(params.cache_type, 0, 0);
  out->grid = {context.rows_of(params.row_set) * params.heads, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
