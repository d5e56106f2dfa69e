#include "moe_linear_params.h"

#include "family_schema.h"

namespace markbase {

/** top_k is at most the number of experts; geglu has two weights. */
Status check_moe_linear(const Command& command) {
  constexpr size_t kFixedOperands = 6;  // x, norm gain, logits, scale per expert, experts, shares
  const auto& p = command.params_as<MoeLinearParams>();
  if (p.weights != (p.epilogue == kMoeLinearGeglu ? 2u : 1u)) return refuse(command, "weights", "2 weights with geglu, otherwise 1");
  if (p.top_k > p.experts) return refuse(command, "topK", "1 to " + std::to_string(p.experts) + " experts");
  const size_t operands = kFixedOperands + 3 * p.weights + 1;
  return command.bindings.size() == operands ? Status::good() : refuse(command, "operands", std::to_string(operands) + " operands");
}

}  // namespace markbase
