#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "command.h"
#include "status.h"

namespace markbase {

/** An operation as the recorder hands it over: a family, numbers by name, operands in binding order. */
struct OpCall {
  std::string family;
  std::string label;
  std::unordered_map<std::string, double> attributes;
  std::vector<Binding> operands;
};

/**
 * Makes a command of an operation by the schema of its family. kInvalidArgument when an attribute is missing, unknown or out of
 * range, or when the number of operands is another one: kernels and plans rely on it.
 */
Status lower(const OpCall& call, Command* out);

}  // namespace markbase
