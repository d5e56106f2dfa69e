#include "segment_attention_params.h"

#include "family_schema.h"

namespace markbase {

/** Every key/value head has the same number of query heads; the elements of a head are rotated in pairs. */
Status check_segment_attention(const Command& command) {
  const auto& p = command.params_as<SegmentAttentionParams>();
  if (p.heads % p.kv_heads == 0 && p.width % 2 == 0) return Status::good();
  // Reached only by commands that the recorder did not make; see border.test.ts.
  return refuse(command, "heads", "a multiple of kvHeads, an even width");
}

}  // namespace markbase
