#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "command.h"
#include "status.h"

namespace markbase {

/** An operation as passed by the recorder: a family, numbers by name, operands in binding order. */
struct OpCall {
  std::string family;
  std::string label;
  std::unordered_map<std::string, double> attributes;
  std::vector<Binding> operands;
};

/**
 * Creates the command of an operation by the schema of its family. kInvalidArgument if an attribute is missing, unknown or out of range, or
 * if the number of operands differs: kernels and plans rely on it.
 */
Status lower(const OpCall& call, Command* out);

}  // namespace markbase
