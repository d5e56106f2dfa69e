#include "segment_attention/segment_attention_params.h"

#include "op_call.h"

namespace markbase {

Status lower_segment_attention(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  SegmentAttentionParams params{};
  params.row_set = attributes.u32("rowSet");
  params.heads = attributes.u32("heads");
  params.kv_heads = attributes.u32("kvHeads");
  params.width = attributes.u32("width");
  params.q_stride = attributes.u32("qStride");
  params.k_stride = attributes.u32("kStride");
  params.v_stride = attributes.u32("vStride");
  params.out_stride = attributes.u32("outStride");
  params.is_fast = attributes.u32("isFast");
  params.has_prepare = attributes.u32("hasPrepare");
  params.q_gain_type = attributes.u32("qGainType");
  params.k_gain_type = attributes.u32("kGainType");
  params.axes = attributes.u32("axes");
  params.eps = attributes.f32("eps");
  attributes.operands(7);
  if (params.kv_heads == 0 || params.heads % params.kv_heads != 0 || params.width % 2 != 0) {
    return Status::error(StatusCode::kInvalidArgument, call.label + ": heads", "a multiple of kvHeads, an even width");
  }
  out->row_set = static_cast<RowSet>(params.row_set);
  out->grid = {context.rows_of(params.row_set), params.heads * params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
