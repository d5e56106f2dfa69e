#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"

namespace msl {

/** Compilation options of a library. */
struct CompileOptions {
  std::vector<std::pair<std::string, std::string>> macros;
  bool has_fast_math = true;  ///< Metal's default
  unsigned language = 320;    ///< __METAL_VERSION__; 400 has tensors
  bool has_checks = false;    ///< every access of memory is reported to the runtime
  std::string coverage_folder;
  std::string file_name = "program_source";  ///< in messages
};

/** METAL_SIM_CHECK=1 and METAL_SIM_COVERAGE=folder. */
CompileOptions compile_options_from_environment();

/** A compiled Metal source file. */
class Library {
 public:
  /** Compiles, or loads an earlier result from the cache. Null on failure, with the compiler's message in `error`. */
  static std::shared_ptr<Library> compile(const std::string& source, const CompileOptions& options, std::string* error);
  ~Library();

  const Module& module() const { return *module_; }
  const KernelRecord* find(const std::string& name) const;
  bool has_checks() const { return has_checks_; }
  /** True if the address is one of the library's constants. */
  bool contains(const void* address) const { return address >= begin_ && address < end_; }

 private:
  Library() = default;
  void* handle_ = nullptr;
  const Module* module_ = nullptr;
  bool has_checks_ = false;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace msl
