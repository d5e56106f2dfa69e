#pragma once
#include <stdint.h>

/**
 * Parameters of the kv_copy kernel: the key and the value at cache[source][position % capacity] of each row go to
 * cache[slot][position % capacity]. A row whose source is not a slot, or is its own slot, does nothing.
 * Bindings: source [rows, 1] float32, key cache, value cache.
 */
struct KvCopyParams {
  uint32_t row_set;
  uint32_t source_stride;  ///< elements between two rows of source
  uint32_t width;          ///< G * K, elements per position
  uint32_t slots;          ///< slots of the cache
  uint32_t capacity;       ///< positions per slot of the cache
  uint32_t cache_type;     ///< ScalarType of the cache
};
static_assert(sizeof(KvCopyParams) == 24, "host and kernel disagree on KvCopyParams");

#define MARKBASE_KV_COPY_OPERANDS 3
