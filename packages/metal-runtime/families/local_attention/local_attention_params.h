#pragma once
#include <stdint.h>

/** Maximum number of keys that a query may see. */
enum { kMaxLocalReach = 64 };

/**
 * Parameters of the local_attention kernel. Row r at position p of its slot sees the rows r - d for d < reach and d <= p:
 * s_d = sum_k (q[r][k] * query_scale[k]) * (k[r - d][k] * key_scale + relative_keys[d][k]), s_d = cap * tanh(s_d / cap),
 * out[r] = sum_d softmax(s)_d * v[r - d], per head, d ascending. The rows of a slot are contiguous.
 *
 * Bindings: q, k, v, query scale [width] float32, relative keys [distances >= reach][heads][width] float32, out.
 */
struct LocalAttentionParams {
  uint32_t heads;     ///< H
  uint32_t width;     ///< K, elements per head
  uint32_t reach;     ///< 1 to kMaxLocalReach
  uint32_t q_stride;  ///< elements between two rows of q
  uint32_t k_stride;
  uint32_t v_stride;
  uint32_t out_stride;
  float key_scale;
  float cap;  ///< > 0
};
static_assert(sizeof(LocalAttentionParams) == 36, "host and kernel disagree on LocalAttentionParams");

#define MARKBASE_LOCAL_ATTENTION_OPERANDS 6
#define MARKBASE_LOCAL_ATTENTION_ROW_SET 0  // kAllRows
