#include <cmath>

#include "op_call.h"
#include "scalar_type.h"

namespace markbase {

uint32_t Attributes::u32(const std::string& name) {
  const auto found = call_.attributes.find(name);
  const double value = found == call_.attributes.end() ? -1 : found->second;
  if (!(value >= 0 && value <= 4294967295.0) || value != std::floor(value)) {
    if (status_.ok()) {
      status_ = Status::error(StatusCode::kInvalidArgument, call_.label + ": " + name, "a whole number below 2^32");
    }
    return 0;
  }
  return static_cast<uint32_t>(value);
}

float Attributes::f32(const std::string& name) {
  const auto found = call_.attributes.find(name);
  if (found == call_.attributes.end()) {
    if (status_.ok()) status_ = Status::error(StatusCode::kInvalidArgument, call_.label + ": " + name, "a number");
    return 0;
  }
  return static_cast<float>(found->second);
}

void Attributes::operands(size_t count) {
  if (call_.operands.size() == count || !status_.ok()) return;
  status_ = Status::error(StatusCode::kInvalidArgument, call_.label + ": operands", std::to_string(count) + " operands");
}

std::string format_name(uint32_t format, uint32_t bits, uint32_t group) {
  switch (format) {
    case kWeightAffine:
      return std::string("q").append(std::to_string(bits)).append("g").append(std::to_string(group));
    case kWeightBf16:
      return "bf16";
    case kWeightF16:
      return "f16";
    default:
      return "f32";
  }
}

Status lower(const OpCall& call, const LoweringContext& context, Command* out) {
  using Lowering = Status (*)(const OpCall&, const LoweringContext&, Command*);
  static const std::unordered_map<std::string, Lowering> lowerings = {
      {"embed", lower_embed},         {"rms_norm", lower_rms_norm},     {"linear", lower_linear},
      {"elementwise", lower_elementwise}, {"rope_table", lower_rope_table}, {"rope", lower_rope},
      {"kv_append", lower_kv_append}, {"kv_copy", lower_kv_copy},     {"attention", lower_attention},   {"gather_rows", lower_gather_rows},
      {"moe_route", lower_moe_route}, {"moe_linear", lower_moe_linear}, {"moe_combine", lower_moe_combine},
      {"sample", lower_sample},       {"layer_norm", lower_layer_norm}, {"column_affine", lower_column_affine},
      {"pool_rows", lower_pool_rows}, {"segment_attention", lower_segment_attention},
      {"conv2d", lower_conv2d},       {"causal_conv", lower_causal_conv}, {"local_attention", lower_local_attention},
  };
  const auto found = lowerings.find(call.family);
  if (found == lowerings.end()) {
    return Status::error(StatusCode::kInvalidArgument, call.label, "a known kernel family, not " + call.family);
  }
  out->kernel.family = call.family;
  out->label = call.label;
  out->bindings = call.operands;
  return found->second(call, context, out);
}

}  // namespace markbase
