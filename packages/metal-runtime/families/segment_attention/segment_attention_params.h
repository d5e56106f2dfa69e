#pragma once
#include <stdint.h>

/**
 * Parameters of the segment_attention kernel: out = softmax(q k^T) v per query head, scale 1, where every row sees all rows
 * of its segment (an image, a frame) and no others. Query head h reads key and value head h / (heads / kv_heads).
 *
 * The rows of a segment are adjacent: those of row r are r - position[r] to r - position[r] + visible_end[r].
 * With has_prepare, q and k are raw: each head is normalised with its gain, then its `axes` equal parts are rotated, each
 * by its own part of the table (see rope_params.h); each head of v is normalised without a gain.
 *
 * Bindings: q, k, v, out; q gain, k gain, table [rows, width] (absent unless has_prepare).
 */
struct SegmentAttentionParams {
  uint32_t row_set;
  uint32_t heads;
  uint32_t kv_heads;
  uint32_t width;     ///< elements per head, a multiple of 2
  uint32_t q_stride;  ///< elements between two rows
  uint32_t k_stride;
  uint32_t v_stride;
  uint32_t out_stride;
  uint32_t is_fast;  ///< 1: products in bfloat16 where the backend has them
  uint32_t has_prepare;
  uint32_t q_gain_type;  ///< ScalarType
  uint32_t k_gain_type;  ///< ScalarType
  uint32_t axes;         ///< parts of a head that are rotated separately
  float eps;             ///< of the norms
};
static_assert(sizeof(SegmentAttentionParams) == 56, "host and kernel disagree on SegmentAttentionParams");

#define MARKBASE_SEGMENT_ATTENTION_OPERANDS 7
