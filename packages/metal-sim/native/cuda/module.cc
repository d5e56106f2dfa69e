#include "module.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "kernel_sources.h"

namespace cuda_sim {
namespace {

/** The value of a "name=value" word in a line. */
std::string value_of(const std::string& line, const std::string& name) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.compare(0, name.size() + 1, name + "=") == 0) return word.substr(name.size() + 1);
  }
  return "";
}

const char* find_source(const std::string& name) {
  for (size_t i = 0; i < markbase::metal::kKernelSourceCount; ++i) {
    if (name == std::string(markbase::metal::kKernelSources[i].name) + ".metal") return markbase::metal::kKernelSources[i].text;
  }
  return nullptr;
}

/** Parameters of an entry by convention: buffers in index order. */
std::vector<EntryParameter> parameters_of(const msl::KernelRecord& kernel) {
  std::vector<EntryParameter> parameters;
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    const msl::Parameter& parameter = kernel.parameters[i];
    if (parameter.kind != msl::ParameterKind::kBuffer) continue;
    const bool is_value = parameter.is_constant_space && kernel.reference_bytes[i] > 0;
    parameters.push_back({parameter.index, is_value, is_value ? kernel.reference_bytes[i] : sizeof(uint64_t)});
  }
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return parameters;
}

/** Parameter sizes of an entry as declared in its PTX; false if the entry does not exist. */
bool declared_bytes(const std::string& text, const std::string& name, std::vector<size_t>* out) {
  const std::string head = ".entry " + name;
  size_t at = text.find(head);
  while (at != std::string::npos && std::isalnum(static_cast<unsigned char>(text[at + head.size()]))) at = text.find(head, at + 1);
  if (at == std::string::npos) return false;
  std::istringstream list(text.substr(at, text.find('{', at) - at));
  for (std::string line; std::getline(list, line);) {
    const size_t parameter = line.find(".param");
    if (parameter == std::string::npos) continue;
    const size_t bracket = line.find('[');
    if (line.find(".u64", parameter) != std::string::npos || line.find(".b64", parameter) != std::string::npos) out->push_back(8);
    else out->push_back(bracket == std::string::npos ? 4 : std::strtoul(line.c_str() + bracket + 1, nullptr, 10));
  }
  return true;
}

}  // namespace

Result load_module(const char* text, std::unique_ptr<Module>* out, std::string* log) {
  auto module = std::make_unique<Module>();
  module->text = text;
  const std::string line = module->text.substr(0, module->text.find('\n'));
  const std::string source = value_of(line, "source"), arch = value_of(line, "arch");
  if (state().takes_failure(kCudaSimOldPtx)) return kOldPtx;
  if (state().takes_failure(kCudaSimNoModule)) {
    *log = "ptxas fatal: requested by a test";
    return kInvalidPtx;
  }
  if (arch.compare(0, 3, "sm_") != 0 || std::strtoul(arch.c_str() + 3, nullptr, 10) > setting("CUDA_SIM_CAPABILITY", 90)) {
    *log = "PTX for " + arch + " does not run on this GPU";
    return kInvalidPtx;
  }
  const char* metal = find_source(source);
  if (!metal) {
    *log = "no such kernel file: " + source;
    return kInvalidPtx;
  }
  msl::CompileOptions options = msl::compile_options_from_environment();
  options.has_fast_math = false;
  options.macros.emplace_back("MARKBASE_NVIDIA", "1");
  module->library = msl::Library::compile(metal, options, log);
  if (!module->library) return kInvalidPtx;
  state().modules += 1;
  state().live_objects += 1;
  *out = std::move(module);
  return kSuccess;
}

Result find_function(Module& module, const std::string& name, Function** out) {
  const msl::KernelRecord* kernel = module.library->find(name);
  std::vector<size_t> declared;
  if (!kernel || !declared_bytes(module.text, name, &declared)) return kNotFound;
  auto function = std::make_unique<Function>();
  function->library = module.library;
  function->kernel = kernel;
  function->parameters = parameters_of(*kernel);
  for (unsigned i = 0; i < kernel->parameter_count; ++i) {
    function->has_dynamic_shared |= kernel->parameters[i].kind == msl::ParameterKind::kThreadgroup;
  }
  std::vector<size_t> expected;
  for (const EntryParameter& parameter : function->parameters) expected.push_back(parameter.bytes);
  if (declared != expected) return misuse(kInvalidPtx, "the parameters of " + name + " in PTX are not those of its Metal source");
  *out = function.get();
  module.functions.push_back(std::move(function));
  return kSuccess;
}

}  // namespace cuda_sim
