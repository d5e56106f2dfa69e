#include "linear_params.h"

#include "family_schema.h"

namespace markbase {

/** Each weight has three operands, and its own output unless the epilogue combines them. */
Status check_linear(const Command& command) {
  constexpr size_t kFixedOperands = 6;  // x, residual, residual gain, h, norm gain, epilogue operand
  const auto& p = command.params_as<LinearParams>();
  const size_t outputs = p.epilogue == kLinearStore ? p.weights : 1;
  const size_t operands = kFixedOperands + 3 * p.weights + outputs;
  return command.bindings.size() == operands ? Status::good() : refuse(command, "operands", std::to_string(operands) + " operands");
}

}  // namespace markbase
