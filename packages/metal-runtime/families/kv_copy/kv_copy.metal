/**
 * kv_copy: the keys and values of each row's position, unchanged, from block `source` to the block that the row's table names; one thread
 * per element of both.
 */
#include <metal_stdlib>
using namespace metal;

#include "kv_copy_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "cache_block.h"
#include "metal_cache.h"

kernel void kv_copy(constant KvCopyParams& p [[buffer(0)]],
                    constant Launch& launch [[buffer(1)]],
                    device const float* source [[buffer(2)]],
                    device uchar* keys [[buffer(3)]],
                    device uchar* values [[buffer(4)]],
                    device const int* position [[buffer(24)]],
                    device const int* slot [[buffer(25)]],
                    device const int* tables [[buffer(27)]],
                    uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const float block = source[ulong(at.y) * p.source_stride];
  if (!(block >= 0.0f && block < float(p.blocks))) return;
  const uint own = uint(position[at.y]);
  const ulong from_place = ulong(block) * MARKBASE_BLOCK_TOKENS + own % MARKBASE_BLOCK_TOKENS;
  const ulong to_place = cache_table(tables, slot[at.y], p.cache_kind).place(own);
  if (from_place == to_place) return;
  const ulong from = from_place * p.width + at.x, to = to_place * p.width + at.x;
  if (p.cache_type == kScalarF32) {
    ((device uint*)keys)[to] = ((device uint*)keys)[from];
    ((device uint*)values)[to] = ((device uint*)values)[from];
  } else {
    ((device ushort*)keys)[to] = ((device ushort*)keys)[from];
    ((device ushort*)values)[to] = ((device ushort*)values)[from];
  }
}
