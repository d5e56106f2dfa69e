#include "kernel_parameters.h"

#include <cstdlib>
#include <map>

namespace msl {
namespace {

const std::map<std::string, const char*>& builtin_kinds() {
  static const std::map<std::string, const char*> kinds = {
      {"thread_position_in_grid", "kThreadPositionInGrid"},
      {"thread_position_in_threadgroup", "kThreadPositionInThreadgroup"},
      {"threadgroup_position_in_grid", "kThreadgroupPositionInGrid"},
      {"threads_per_threadgroup", "kThreadsPerThreadgroup"},
      {"threadgroups_per_grid", "kThreadgroupsPerGrid"},
      {"threads_per_grid", "kThreadsPerGrid"},
      {"thread_index_in_threadgroup", "kThreadIndexInThreadgroup"},
      {"thread_index_in_simdgroup", "kThreadIndexInSimdgroup"},
      {"simdgroup_index_in_threadgroup", "kSimdgroupIndexInThreadgroup"},
      {"threads_per_simdgroup", "kThreadsPerSimdgroup"},
      {"thread_execution_width", "kThreadsPerSimdgroup"},
      {"simdgroups_per_threadgroup", "kSimdgroupsPerThreadgroup"},
      {"quadgroup_index_in_threadgroup", "kQuadgroupIndexInThreadgroup"},
      {"thread_index_in_quadgroup", "kThreadIndexInQuadgroup"},
  };
  return kinds;
}

}  // namespace

ParameterText describe_parameter(const std::vector<Token>& tokens) {
  ParameterText out;
  std::string name, kind, index = "0";
  bool has_const = false, is_device = false, is_constant = false, is_threadgroup = false, is_pointer = false;
  bool is_optional = false, is_reference = false;
  size_t i = 0;
  for (; i < tokens.size() && !(tokens[i].is("[") && i + 1 < tokens.size() && tokens[i + 1].is("[")); ++i) {
    const Token& token = tokens[i];
    if (token.is("*") || token.is("&")) is_pointer = true;
    is_reference = is_reference || token.is("&");
    // "const" after the asterisk applies to the pointer.
    if (token.is("const") && !is_pointer) has_const = true;
    is_device = is_device || token.is("device");
    is_constant = is_constant || token.is("constant");
    is_threadgroup = is_threadgroup || token.is("threadgroup");
    if (token.is_identifier()) name = token.text;
  }
  for (; i + 1 < tokens.size(); ++i) {
    const std::string& attribute = tokens[i].text;
    const bool has_argument = i + 2 < tokens.size() && tokens[i + 1].is("(");
    if ((attribute == "buffer" || attribute == "threadgroup") && has_argument) {
      kind = attribute == "buffer" ? "kBuffer" : "kThreadgroup";
      index = tokens[i + 2].text;
      out.space = attribute == "buffer" ? 0 : 1;
      out.slot = std::atoi(index.c_str());
    } else if (attribute == "function_constant") {
      is_optional = true;
    } else if (auto found = builtin_kinds().find(attribute); found != builtin_kinds().end()) {
      kind = found->second;
    }
  }
  if (name.empty()) out.error = "a parameter has no name";
  else if (kind.empty()) out.error = "parameter " + name + " has no supported attribute, such as [[buffer(0)]]";
  else if (kind == "kBuffer" && !is_device && !is_constant)
    out.error = "parameter " + name + " is a buffer in neither device nor constant memory";
  else if (kind == "kThreadgroup" && !is_threadgroup)
    out.error = "parameter " + name + " has a threadgroup index, but is in no threadgroup memory";
  else if (out.slot >= 31) out.error = "parameter " + name + " has index " + index + ", expected 0 to 30";
  out.kind = kind;
  out.is_value = is_constant && is_reference;
  auto text = [](bool value) { return value ? "true" : "false"; };
  out.record = "{\"" + name + "\", msl::ParameterKind::" + kind + ", " + index + ", " + text(is_device && !has_const) + ", " +
               text(is_optional) + ", " + text(is_constant) + "}";
  return out;
}

}  // namespace msl
