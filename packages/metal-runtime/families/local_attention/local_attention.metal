/**
 * local_attention: softmax over the last `reach` rows of a slot, with relative keys for each distance and capped scores. One simdgroup per
 * row and head: lanes share the elements of a key, then lane d keeps the scores of distances d and d + 32.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "local_attention_params.h"
#include "metal_math.h"

kernel void local_attention(constant LocalAttentionParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* q [[buffer(2)]],
                            device const float* k [[buffer(3)]],
                            device const float* v [[buffer(4)]],
                            device const float* query_scale [[buffer(5)]],
                            device const float* relative_keys [[buffer(6)]],
                            device float* out [[buffer(7)]],
                            device const int* position [[buffer(24)]],
                            uint2 at [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float weights[kMaxLocalReach];
  const uint row = at.y, offset = at.x * p.width;
  const uint count = min(p.reach, min(uint(position[row]), row) + 1);
  device const float* query = q + ulong(row) * p.q_stride + offset;
  float scores[2] = {kLowest, kLowest};
  for (uint d = 0; d < count; ++d) {
    device const float* key = k + ulong(row - d) * p.k_stride + offset;
    device const float* relative = relative_keys + ulong(d) * p.heads * p.width + offset;
    float partial = 0.0f;
    for (uint i = lane; i < p.width; i += kLanes) {
      partial = fma(query[i] * query_scale[i], fma(key[i], p.key_scale, relative[i]), partial);
    }
    const float score = softcap(simd_sum(partial), p.cap);
    for (uint i = 0; i < 2; ++i) {
      if (d == lane + i * kLanes) scores[i] = score;
    }
  }
  const float most = simd_max(max(scores[0], scores[1]));
  float own = 0.0f;
  for (uint i = 0; i < 2; ++i) {
    const float weight = lane + i * kLanes < count ? exponential(scores[i] - most) : 0.0f;
    weights[lane + i * kLanes] = weight;
    own += weight;
  }
  const float share = 1.0f / simd_sum(own);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = lane; i < p.width; i += kLanes) {
    float total = 0.0f;
    for (uint d = 0; d < count; ++d) total = fma(v[ulong(row - d) * p.v_stride + offset + i], weights[d] * share, total);
    out[ulong(row) * p.out_stride + offset + i] = total;
  }
}
