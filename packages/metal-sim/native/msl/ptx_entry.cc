#include "ptx_entry.h"

#include <map>

#include "rewriter.h"

namespace msl {

EntryText describe_entry(const std::string& quoted_name,
                         const std::string& function,
                         const std::vector<ParameterText>& parameters,
                         const std::string& max_threads) {
  std::string name;  // adjacent literals are concatenated
  for (char c : quoted_name) {
    if (c != '"' && c != ' ') name += c;
  }
  std::map<int, const ParameterText*> buffers;
  std::map<int, std::string> declarations;
  std::string arguments;
  bool has_threadgroup_memory = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterText& parameter = parameters[i];
    const std::string type = "<decltype(&::" + function + "), " + std::to_string(i) + ">";
    arguments += i > 0 ? ", " : "";
    if (parameter.kind == "kBuffer") {
      const std::string variable = "msl_" + std::to_string(parameter.slot);
      buffers[parameter.slot] = &parameter;
      declarations[parameter.slot] = (parameter.is_value ? "msl::Value" : "msl::Pointer") + type + " " + variable;
      arguments += variable;
    } else if (parameter.kind == "kThreadgroup") {
      if (has_threadgroup_memory) throw RewriteError("kernel " + name + ": more than one threadgroup argument");
      has_threadgroup_memory = true;
      arguments += "msl::dynamic_memory" + type + "()";
    } else {
      arguments += "msl::place" + type + "(msl::ParameterKind::" + parameter.kind + ")";
    }
  }
  EntryText entry;
  std::string declared;
  entry.table = "//! " + name;
  for (const auto& [slot, parameter] : buffers) {
    declared += (declared.empty() ? "" : ", ") + declarations[slot];
    entry.table += " " + std::to_string(slot) + (parameter->is_value ? ":value" : ":pointer");
  }
  entry.table += has_threadgroup_memory ? " threadgroup\n" : "\n";
  const std::string bounds = max_threads == "0" ? "" : "__attribute__((launch_bounds(" + max_threads + "))) ";
  entry.definition = "extern \"C\" __attribute__((global)) " + bounds + "void " + name + "(" + declared + ") { ::" + function + "(" +
                     arguments + "); }\n";
  return entry;
}

}  // namespace msl
