#pragma once

/**
 * The choice of experts for one row. Metal only; the including file has metal_stdlib, moe_route_params.h, metal_storage.h and
 * metal_math.h.
 */

#pragma METAL fp contract(off)

/** Maximum number of experts that a simdgroup can choose among: 32 per lane. */
constant constexpr uint kMaxExperts = 1024;

/** Maximum number of experts that a row can choose. */
constant constexpr uint kMaxChosen = 128;

/**
 * experts = the top_k largest logits, the lower number first where two are equal; shares = softmax(logit_scale * logits) over them, times
 * their scales. Called by all lanes of one simdgroup; on return both results are in threadgroup memory.
 */
inline void route_row(device const float* logits,
                      uint expert_count,
                      uint top_k,
                      device const uchar* scales,
                      uint scale_type,
                      float logit_scale,
                      threadgroup float* experts,
                      threadgroup float* shares,
                      uint lane) {
  uint taken = 0;
  for (uint x = 0; x < top_k; ++x) {
    uint best_key = 0, best = kMaxExperts;
    for (uint i = 0; lane + i * kLanes < expert_count; ++i) {
      if ((taken >> i & 1u) != 0) continue;
      const uint key = order_key(logits[lane + i * kLanes]);
      if (best == kMaxExperts || key > best_key) {
        best_key = key;
        best = lane + i * kLanes;
      }
    }
    // A lane with no experts left must not win with the key of a NaN.
    const uint most = simd_max(best == kMaxExperts ? 0u : best_key);
    const uint chosen = simd_min(best_key == most ? best : kMaxExperts);
    if (chosen % kLanes == lane) taken |= 1u << (chosen / kLanes);
    if (lane == 0) {
      experts[x] = float(chosen);
      shares[x] = logits[chosen];
    }
  }
  if (lane == 0) {
    const float largest = shares[0];
    float total = 0.0f;
    for (uint x = 0; x < top_k; ++x) {
      shares[x] = exponential((shares[x] - largest) * logit_scale);
      total += shares[x];
    }
    for (uint x = 0; x < top_k; ++x) shares[x] = shares[x] / total * load_scalar(scales, scale_type, ulong(experts[x]));
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}
