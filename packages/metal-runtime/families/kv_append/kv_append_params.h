#pragma once
#include <stdint.h>

/**
 * Parameters of the kv_append kernel: stores the key and value rows of this step at
 * the position's place in the cache, [G][K]. Bindings: k, v, key cache, value cache.
 */
struct KvAppendParams {
  uint32_t row_set;
  uint32_t kv_heads;  ///< G
  uint32_t width;     ///< K, elements per head
  uint32_t k_stride;  ///< elements between two rows of k
  uint32_t v_stride;
  uint32_t cache_kind;  ///< 0: of a full layer, 1: of a sliding one
  uint32_t cache_type;  ///< ScalarType of the cache: f32 (high) or bf16 (fast)
};
static_assert(sizeof(KvAppendParams) == 28, "host and kernel disagree on KvAppendParams");

#define MARKBASE_KV_APPEND_OPERANDS 4
