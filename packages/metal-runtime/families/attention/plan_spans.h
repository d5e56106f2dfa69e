#pragma once

#include "dispatch_builder.h"

namespace markbase::gpu {

/** Maximum number of spans of a row, and floats before the values of a span; kMostSpans and kSpanHeader of metal_attention.h. */
inline constexpr uint32_t kMostSpans = 16;
inline constexpr uint32_t kSpanHeader = 2;

/** Output operand of attention. */
inline constexpr uint32_t kAttentionOutput = 3;

/** Results of attention that are still to be folded: scratch of the same command. */
struct AttentionSpans {
  uint32_t count = 0;  ///< spans allocated per row and head; 0: attention was not split and has stored its rows
  size_t offset = 0;
  size_t size_bytes = 0;
};

/** Number of spans into which the attention of a command is split, one threadgroup each; 0: it is not split. */
uint32_t count_spans(const CommandContext& context);

/** Plans attention without the final fold. */
Status plan_attention_spans(CommandContext& context, AttentionSpans* spans);

}  // namespace markbase::gpu
