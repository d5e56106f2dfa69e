#pragma once
#include <stdint.h>

/** Maximum number of heads whose spans attention_linear folds: their factors are kept in threadgroup memory with the row. */
#define MARKBASE_ATTENTION_LINEAR_HEADS 32

/** Parameters of attention_linear: y = x W^T, where x is one row of attention whose spans are not folded yet. */
struct AttentionLinearParams {
  uint32_t in;  ///< heads * width
  uint32_t out;
  uint32_t group;       ///< of the weight, when affine
  uint32_t scale_type;  ///< ScalarType, when affine
  uint32_t width;       ///< elements of a head
  uint32_t window;      ///< of the attention; 0 = full
  uint32_t places;      ///< of spans per head
};
static_assert(sizeof(AttentionLinearParams) == 28, "host and kernel disagree on AttentionLinearParams");
