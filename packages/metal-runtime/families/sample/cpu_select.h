#pragma once

#include <cstddef>
#include <cstdint>

namespace markbase::cpu {

/** One token and its logit. Better: larger logit, then lower id. */
struct Candidate {
  float logit;
  int32_t id;
};

/**
 * A uniform number in [0, 1) with 53 random bits that depends on seed and draw alone: splitmix64's finaliser over
 * finaliser(seed) + (draw + 1) * 0x9e3779b97f4a7c15, its upper 53 bits.
 */
double uniform_number(uint32_t seed_low, uint32_t seed_high, uint32_t draw);

/** Bytes of scratch that `best_candidates` needs for a vocabulary. */
size_t candidate_scratch_bytes(uint32_t vocabulary);

/**
 * The best `count` tokens in order, best first; fewer if fewer logits are above -infinity. The logits must not contain NaN. The result is
 * in the scratch memory.
 */
Candidate* best_candidates(const float* logits, uint32_t vocabulary, uint32_t count, std::byte* scratch, uint32_t* found);

/** Settings of top-k, top-p and min-p. */
struct Filter {
  uint32_t top_k;  ///< 0 = off
  float top_p;     ///< 1 = off
  float min_p;     ///< 0 = off
};

/**
 * Draws a token. `weights`: e^((logit - maximum) / temperature) of every token, 0 where it is excluded. Kept are the top_k
 * best, of them the fewest best whose weights reach top_p of their sum, of them those with at least min_p of the best
 * weight. The token is the first in ascending order of ids at which the running sum of kept weights exceeds
 * uniform * total, all in double precision.
 */
int32_t draw_token(
    const float* logits, const float* weights, uint32_t vocabulary, const Filter& filter, double uniform, std::byte* scratch);

}  // namespace markbase::cpu
