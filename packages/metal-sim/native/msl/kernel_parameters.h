#pragma once

#include <string>
#include <vector>

#include "tokens.h"

namespace msl {

/** What the rewriter learns from one parameter of a kernel. */
struct ParameterText {
  std::string record;     ///< initialiser of an msl::Parameter
  std::string error;      ///< what is wrong with it, or ""
  int space = 0;          ///< argument table: 0 buffers, 1 threadgroup memory
  int slot = -1;          ///< index in it, or -1
  std::string kind;       ///< an msl::ParameterKind
  bool is_value = false;  ///< a reference into constant memory: its value can be handed over instead
};

ParameterText describe_parameter(const std::vector<Token>& tokens);

}  // namespace msl
