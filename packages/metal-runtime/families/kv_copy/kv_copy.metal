/**
 * kv_copy: cache[slot][position % capacity] = cache[source][position % capacity], keys and values, unchanged; one thread per element of
 * both.
 */
#include <metal_stdlib>
using namespace metal;

#include "kv_copy_params.h"
#include "launch.h"
#include "scalar_type.h"

kernel void kv_copy(constant KvCopyParams& p [[buffer(0)]],
                    constant Launch& launch [[buffer(1)]],
                    device const float* source [[buffer(2)]],
                    device uchar* keys [[buffer(3)]],
                    device uchar* values [[buffer(4)]],
                    device const int* position [[buffer(24)]],
                    device const int* slot [[buffer(25)]],
                    uint2 at [[thread_position_in_grid]]) {
  if (at.x >= p.width || at.y >= launch.rows) return;
  const float from_slot = source[ulong(at.y) * p.source_stride];
  if (!(from_slot >= 0.0f && from_slot < float(p.slots)) || int(from_slot) == slot[at.y]) return;
  const uint place = uint(position[at.y]) % p.capacity;
  const ulong from = (ulong(from_slot) * p.capacity + place) * p.width + at.x;
  const ulong to = (ulong(slot[at.y]) * p.capacity + place) * p.width + at.x;
  if (p.cache_type == kScalarF32) {
    ((device uint*)keys)[to] = ((device uint*)keys)[from];
    ((device uint*)values)[to] = ((device uint*)values)[from];
  } else {
    ((device ushort*)keys)[to] = ((device ushort*)keys)[from];
    ((device ushort*)values)[to] = ((device ushort*)values)[from];
  }
}
