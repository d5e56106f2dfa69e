#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../msl/library.h"
#include "state.h"

namespace cuda_sim {

/** A parameter of an entry: the bytes of a struct, or an address. */
struct EntryParameter {
  unsigned index;  ///< [[buffer(index)]]
  bool is_value;
  size_t bytes;
};

/** An entry of a module, run from the Metal source that its PTX was generated from. */
struct Function {
  std::shared_ptr<msl::Library> library;
  const msl::KernelRecord* kernel;
  std::vector<EntryParameter> parameters;  ///< in the order of the entry
  bool has_dynamic_shared = false;
  size_t max_dynamic_bytes = 48 * 1024;
};

struct Module {
  std::shared_ptr<msl::Library> library;
  std::string text;
  std::vector<std::unique_ptr<Function>> functions;
};

/** Reads the first line of a PTX text, and compiles that Metal source for the CPU. `log`: the reason if that fails. */
Result load_module(const char* text, std::unique_ptr<Module>* out, std::string* log);

/** An entry of the PTX; kInvalidPtx if its parameters differ from the kernel's. */
Result find_function(Module& module, const std::string& name, Function** out);

}  // namespace cuda_sim
