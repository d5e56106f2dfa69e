#pragma once
#include <stdint.h>

/**
 * Parameters of the kv_append kernel: stores the key and value rows of this step at
 * cache[slot][position % capacity][G][K]. Bindings: k, v, key cache, value cache.
 */
struct KvAppendParams {
  uint32_t row_set;
  uint32_t kv_heads;  ///< G
  uint32_t width;     ///< K, elements per head
  uint32_t k_stride;  ///< elements between two rows of k
  uint32_t v_stride;
  uint32_t capacity;    ///< positions per slot of the cache; older ones are overwritten
  uint32_t cache_type;  ///< ScalarType of the cache: f32 (high) or bf16 (fast)
};
static_assert(sizeof(KvAppendParams) == 28, "host and kernel disagree on KvAppendParams");

#define MARKBASE_KV_APPEND_OPERANDS 4
