#pragma once

#include "dispatch_builder.h"

namespace markbase::gpu {

/** Most spans of a row, and floats before the values of one; kMostSpans and kSpanHeader of metal_attention.h. */
inline constexpr uint32_t kMostSpans = 16;
inline constexpr uint32_t kSpanHeader = 2;

/** Operand of attention that its rows are stored to. */
inline constexpr uint32_t kAttentionOutput = 3;

/** Results of attention that are still to be folded: scratch of the same command. */
struct AttentionSpans {
  uint32_t count = 0;  ///< places of a row and head; 0: attention was not split and has stored its rows
  size_t offset = 0;
  size_t size_bytes = 0;
};

/** Spans that the attention of a command is split into, one after the other for a threadgroup each; 0: it is not split. */
uint32_t count_spans(const CommandContext& context);

/** Attention up to its last fold. */
Status plan_attention_spans(CommandContext& context, AttentionSpans* spans);

}  // namespace markbase::gpu
