#pragma once

/**
 * Where a sequence's positions are in the caches of one kind of layer. The only way for kernels to find one. The including file has
 * cache_block.h.
 */
struct CacheTable {
  device const int* entries;

  /** Row of the cache with the first position of the block that contains `position`. */
  uint block(uint position) const { return uint(entries[position / MARKBASE_BLOCK_TOKENS * MARKBASE_BLOCK_KINDS]) * MARKBASE_BLOCK_TOKENS; }
  /** Row of the cache with `position`. */
  ulong place(uint position) const { return ulong(block(position)) + position % MARKBASE_BLOCK_TOKENS; }
};

/** `kind`: 0 = full layers, 1 = sliding layers. */
inline CacheTable cache_table(device const int* tables, int slot, uint kind) { return {tables + slot + kind}; }
