/**
 * segment_prepare: writes the heads of q, k and v of segment_attention contiguously; with has_prepare, q and k are normalised and each of
 * their `axes` parts is rotated, and v is normalised without a gain. One simdgroup per head. The attention itself runs on attention.metal,
 * in `fast` on attention_tile.metal, over float32 rows, with segments instead of slots.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "scalar_type.h"
#include "segment_attention_params.h"
#include "metal_storage.h"
#include "metal_math.h"

kernel void segment_prepare(constant SegmentAttentionParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* q [[buffer(2)]],
                            device const float* k [[buffer(3)]],
                            device const float* v [[buffer(4)]],
                            device const uchar* q_gain [[buffer(6)]],
                            device const uchar* k_gain [[buffer(7)]],
                            device const float* table [[buffer(8)]],
                            device float* queries [[buffer(21)]],
                            device float* keys [[buffer(22)]],
                            device float* values [[buffer(23)]],
                            uint2 at [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float head[kSimdgroupWidth];
  const ulong row = at.y;
  const bool is_query = at.x < p.heads, is_value = at.x >= p.heads + p.kv_heads;
  const uint index = is_query ? at.x : (at.x - p.heads) % p.kv_heads;
  device const float* raw = is_query ? q + row * p.q_stride : is_value ? v + row * p.v_stride : k + row * p.k_stride;
  raw += index * p.width;
  device float* to = is_query ? queries + (row * p.heads + index) * p.width
                              : (is_value ? values : keys) + (row * p.kv_heads + index) * p.width;
  if (p.has_prepare == 0) {
    for (uint i = lane; i < p.width; i += kLanes) to[i] = raw[i];
    return;
  }
  float squares = 0.0f;
  for (uint i = lane; i < p.width; i += kLanes) squares = fma(raw[i], raw[i], squares);
  const float factor = norm_factor(simd_sum(squares), p.width, p.eps);
  device const uchar* gain = is_query ? q_gain + launch.shift[4] : k_gain + launch.shift[5];
  const uint gain_type = is_query ? p.q_gain_type : p.k_gain_type;
  for (uint i = lane; i < p.width; i += kLanes) {
    const float value = raw[i] * factor;
    head[i] = is_value ? value : value * load_scalar(gain, gain_type, i);
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  const uint part_width = p.width / p.axes, pairs = part_width / 2;
  for (uint i = lane; i < p.width; i += kLanes) {
    const uint part = i / part_width * part_width, place = i % part_width;
    if (is_value || place >= 2 * pairs) {
      to[i] = head[i];
      continue;
    }
    const uint pair = place % pairs;
    const float first = head[part + pair], second = head[part + pairs + pair];
    const float cosine = table[row * p.width + part + pair], sine = table[row * p.width + part + pairs + pair];
    to[i] = place < pairs ? first * cosine - second * sine : second * cosine + first * sine;
  }
}
