#include "embed/embed_params.h"

#include "op_call.h"

namespace markbase {

Status lower_embed(const OpCall& call, const LoweringContext& context, Command* out) {
  Attributes attributes(call);
  EmbedParams params{};
  params.width = attributes.u32("width");
  params.vocabulary = attributes.u32("vocabulary");
  params.format = attributes.u32("format");
  params.bits = attributes.u32("bits");
  params.group = attributes.u32("group");
  params.scale_type = attributes.u32("scaleType");
  params.is_layer_table = attributes.u32("isLayerTable");
  params.has_soft = attributes.u32("hasSoft");
  params.scale = attributes.f32("scale");
  attributes.operands(5);
  out->kernel.variant = format_name(params.format, params.bits, params.group);
  out->grid = {context.max_rows, params.width};
  set_params(out, params);
  return attributes.status();
}

}  // namespace markbase
