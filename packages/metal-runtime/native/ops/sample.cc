#include "sample/sample_params.h"

#include "op_call.h"

namespace markbase {

Status lower_sample(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  SampleKernelParams params{};
  params.vocabulary = attributes.u32("vocabulary");
  params.logits_stride = attributes.u32("logitsStride");
  params.suppressed = attributes.u32("suppressed");
  attributes.operands(6);
  out->row_set = kOutputRows;
  out->grid = {context.max_outputs, params.vocabulary};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
