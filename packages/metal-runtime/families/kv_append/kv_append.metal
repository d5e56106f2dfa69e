/** kv_append: stores key and value rows at their positions in the cache; one thread per element of both. */
#include <metal_stdlib>
using namespace metal;

#include "kv_append_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "cache_block.h"
#include "metal_cache.h"

kernel void kv_append(constant KvAppendParams& p [[buffer(0)]],
                      constant Launch& launch [[buffer(1)]],
                      device const float* k [[buffer(2)]],
                      device const float* v [[buffer(3)]],
                      device uchar* keys [[buffer(4)]],
                      device uchar* values [[buffer(5)]],
                      device const int* position [[buffer(24)]],
                      device const int* slot [[buffer(25)]],
                      device const int* tables [[buffer(27)]],
                      uint2 at [[thread_position_in_grid]]) {
  const uint width = p.kv_heads * p.width;
  if (at.x >= width || at.y >= launch.rows) return;
  const ulong place = cache_table(tables, slot[at.y], p.cache_kind).place(uint(position[at.y]));
  const ulong index = place * width + at.x;
  const float key = k[ulong(at.y) * p.k_stride + at.x];
  const float value = v[ulong(at.y) * p.v_stride + at.x];
  if (p.cache_type == kScalarF32) {
    ((device float*)keys)[index] = key;
    ((device float*)values)[index] = value;
  } else {
    ((device ushort*)keys)[index] = to_bf16(key);
    ((device ushort*)values)[index] = to_bf16(value);
  }
}
