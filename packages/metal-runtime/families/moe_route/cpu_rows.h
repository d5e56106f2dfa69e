#pragma once

#include "moe_route_params.h"
#include "vector_math.h"

/** Operations of the moe kernels on one row. Plain and fused kernels call the same functions, so that the bits are the same. */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** Element `index` of a stored array. */
inline float scalar_at(uint32_t type, const void* base, size_t index) {
  switch (type) {
    case kScalarF32: return load_as<kScalarF32>(base, index, 1)[0];
    case kScalarBf16: return load_as<kScalarBf16>(base, index, 1)[0];
    default: return load_as<kScalarF16>(base, index, 1)[0];
  }
}

/**
 * Chooses the experts of one row. `shares` first holds the logits of the list that is being sorted; a NaN never moves ahead of anything, so
 * that the numbers in `experts` are distinct and valid whatever the logits are.
 */
inline void route_row(const MoeRouteParams& p, const float* logits, const void* scales, float* experts, float* shares) {
  uint32_t count = 0;
  for (uint32_t expert = 0; expert < p.experts; ++expert) {
    const float logit = logits[expert];
    if (count == p.top_k && !(logit > shares[count - 1])) continue;
    uint32_t at = count < p.top_k ? count++ : count - 1;
    // Only a larger logit moves ahead, so that the lower number stays first among equal ones.
    for (; at > 0 && logit > shares[at - 1]; --at) {
      shares[at] = shares[at - 1];
      experts[at] = experts[at - 1];
    }
    shares[at] = logit;
    experts[at] = static_cast<float>(expert);
  }
  const float largest = shares[0];
  float total = 0;
  for (uint32_t x = 0; x < count; ++x) {
    shares[x] = exp((shares[x] - largest) * p.logit_scale);
    total += shares[x];
  }
  for (uint32_t x = 0; x < count; ++x) {
    shares[x] = shares[x] / total * scalar_at(p.scale_type, scales, static_cast<size_t>(experts[x]));
  }
}

/** y = sum of shares[x] * slice(x)[0..width), x ascending. */
template <typename Slice>
inline void combine_row(const float* shares, uint32_t top_k, uint32_t width, float* y, Slice&& slice) {
  for_each_vector(width, [&](uint32_t i, uint32_t n) {
    F32 sum = splat(shares[0]) * load(slice(0u) + i, n);
    for (uint32_t x = 1; x < top_k; ++x) sum = fma(splat(shares[x]), load(slice(x) + i, n), sum);
    store(y + i, sum, n);
  });
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
