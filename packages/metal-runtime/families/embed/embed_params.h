#pragma once
#include <stdint.h>

/**
 * Parameters of the embed kernels: y[r] = table[id[r]] * scale, [T, width]; ids come from the step buffer.
 * Bindings: table weight, table scales, table biases (absent unless affine), soft tokens [S, width] (absent unless
 * has_soft), y. With has_soft, rows whose soft_index is >= 0 are copied from the soft tokens, unscaled.
 */
struct EmbedParams {
  uint32_t width;           ///< columns of the table
  uint32_t vocabulary;      ///< rows of the table
  uint32_t format;          ///< WeightFormat of the table
  uint32_t bits;            ///< bits per code when affine
  uint32_t group;           ///< columns per group when affine
  uint32_t scale_type;      ///< ScalarType of scales and biases when affine
  uint32_t is_layer_table;  ///< 1: ids from StepView::layer_token, else StepView::token
  uint32_t has_soft;        ///< 1: soft tokens replace rows
  float scale;              ///< multiplies the looked-up row
};
static_assert(sizeof(EmbedParams) == 36, "host and kernel disagree on EmbedParams");

#define MARKBASE_EMBED_OPERANDS 5
#define MARKBASE_EMBED_ROW_SET 0  // kAllRows
