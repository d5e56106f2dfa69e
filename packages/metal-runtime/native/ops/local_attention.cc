#include "local_attention/local_attention_params.h"

#include "op_call.h"

namespace markbase {

Status lower_local_attention(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  LocalAttentionParams params{};
  params.heads = attributes.u32("heads");
  params.width = attributes.u32("width");
  params.reach = attributes.u32("reach");
  params.q_stride = attributes.u32("qStride");
  params.k_stride = attributes.u32("kStride");
  params.v_stride = attributes.u32("vStride");
  params.out_stride = attributes.u32("outStride");
  params.key_scale = attributes.f32("keyScale");
  params.cap = attributes.f32("cap");
  attributes.operands(6);
  out->row_set = kAllRows;
  out->grid = {context.max_rows * params.heads, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
