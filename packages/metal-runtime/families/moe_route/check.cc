#include "moe_route_params.h"

#include "family_schema.h"

namespace markbase {

/** top_k is at most the number of experts. */
Status check_moe_route(const Command& command) {
  const auto& p = command.params_as<MoeRouteParams>();
  if (p.top_k <= p.experts) return Status::good();
  // Reached only by commands that the recorder did not make; see border.test.ts.
  return refuse(command, "topK", "1 to " + std::to_string(p.experts) + " experts");
}

}  // namespace markbase
