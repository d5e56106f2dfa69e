#pragma once
#include <stdint.h>

/**
 * Parameters of the attention kernels: out = softmax(q k^T) v per query head, scale 1, float32 softmax, query head h reads
 * kv head h / (H/G). Row r at position p sees positions max(0, p - window + 1) .. visible_end[r] in a sliding layer
 * (window > 0) and 0 .. p in a full one (window = 0), read from their places in the cache, [G][K] each (kernels/cache_block.h).
 *
 * Fused preparation (has_prepare): q, k and v are raw projections. Before attending, q and k are normalised per head with
 * their gains and rotated, v is normalised without a gain, k and v are appended to the cache (unless has_kv is 0: the layer
 * shares another layer's cache, and k, v and their gain are absent). With key_is_value the v operand is the raw k.
 *
 * Bindings: q, key cache, value cache, out; with has_prepare also: q gain, rope table, k, v, k gain.
 */
struct AttentionParams {
  uint32_t row_set;
  uint32_t heads;     ///< H
  uint32_t kv_heads;  ///< G
  uint32_t width;     ///< K, elements per head
  uint32_t q_stride;  ///< elements between two rows of q
  uint32_t k_stride;
  uint32_t v_stride;
  uint32_t out_stride;
  uint32_t capacity;    ///< most positions of a sequence that the cache holds
  uint32_t cache_kind;  ///< 0: of a full layer, 1: of a sliding one
  uint32_t window;      ///< 0 = full attention
  uint32_t cache_type;  ///< ScalarType of the cache
  uint32_t has_prepare;
  uint32_t has_kv;
  uint32_t gain_type;     ///< ScalarType of the q and k gains
  float eps;              ///< of the head norms
  uint32_t is_fast;       ///< 1: products in bfloat16 where the backend has them
  uint32_t has_few_rows;  ///< 1: kernels for a few rows; all rows of a program use the same kernels
};
static_assert(sizeof(AttentionParams) == 72, "host and kernel disagree on AttentionParams");

#define MARKBASE_ATTENTION_OPERANDS 9
