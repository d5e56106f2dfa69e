#pragma once
#include <stdint.h>

/**
 * Parameters of the kv_copy kernel: the key and the value of each row's position go from block `source` to the block that the row's
 * table names. A row whose source is not a block of the cache, or is that block, does nothing.
 * Bindings: source [rows, 1] float32, key cache, value cache.
 */
struct KvCopyParams {
  uint32_t row_set;
  uint32_t source_stride;  ///< elements between two rows of source
  uint32_t width;          ///< G * K, elements per position
  uint32_t blocks;         ///< blocks of the cache
  uint32_t cache_kind;     ///< 0: of a full layer, 1: of a sliding one
  uint32_t cache_type;     ///< ScalarType of the cache
};
static_assert(sizeof(KvCopyParams) == 24, "host and kernel disagree on KvCopyParams");

#define MARKBASE_KV_COPY_OPERANDS 3
