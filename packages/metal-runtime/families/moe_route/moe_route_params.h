#pragma once
#include <stdint.h>

/**
 * Parameters of the moe_route kernels: experts = the top_k largest of a row's logits, the lower number first where two are
 * equal; share_x = softmax(logit_scale * logits) over the chosen ones, times the scale of the expert. Float32.
 * Bindings: logits [rows, experts], scale per expert [experts], experts [rows, top_k] (numbers as floats), shares
 * [rows, top_k].
 */
struct MoeRouteParams {
  uint32_t row_set;         ///< RowSet of all operands
  uint32_t experts;         ///< E, logits per row
  uint32_t top_k;           ///< experts chosen per row, 1 to E
  uint32_t logits_stride;   ///< elements between two rows of logits
  uint32_t experts_stride;  ///< ... of experts
  uint32_t shares_stride;   ///< ... of shares
  uint32_t scale_type;      ///< ScalarType of the scale per expert
  float logit_scale;        ///< multiplies the logits before the softmax; > 0
};
static_assert(sizeof(MoeRouteParams) == 32, "host and kernel disagree on MoeRouteParams");

#define MARKBASE_MOE_ROUTE_OPERANDS 4
