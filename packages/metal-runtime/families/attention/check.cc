#include "attention_params.h"

#include "family_schema.h"

namespace markbase {

/** Every key/value head has the same number of query heads. */
Status check_attention(const Command& command) {
  const auto& p = command.params_as<AttentionParams>();
  return p.heads % p.kv_heads == 0 ? Status::good() : refuse(command, "heads", "a multiple of kvHeads");
}

}  // namespace markbase
