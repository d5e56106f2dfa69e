#pragma once

#include <string>
#include <vector>

#include "tokens.h"

namespace msl {

/** A parameter of a kernel as parsed by the rewriter. */
struct ParameterText {
  std::string record;     ///< initialiser of an msl::Parameter
  std::string error;      ///< error message, or ""
  int space = 0;          ///< argument table: 0 buffers, 1 threadgroup memory
  int slot = -1;          ///< index in it, or -1
  std::string kind;       ///< an msl::ParameterKind
  bool is_value = false;  ///< a reference into constant memory: it can be passed by value instead
};

ParameterText describe_parameter(const std::vector<Token>& tokens);

}  // namespace msl
