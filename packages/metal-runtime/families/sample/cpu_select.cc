#include "cpu_select.h"

#include <algorithm>
#include <bit>
#include <cmath>

/** The scalar part of sampling; compiled once for all instruction sets. */
namespace markbase::cpu {
namespace {

/** Logits are binned by their upper 16 bits, which is fine enough that few extra ones are sorted. */
constexpr uint32_t kBins = 1u << 16;

/** Larger logits have larger keys. -0 and 0 are equal and must have one key. */
uint32_t order_key(float logit) {
  const uint32_t bits = std::bit_cast<uint32_t>(logit + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

bool is_better(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/** Draws among kept weights in ascending order of ids; `weight_at(i)` and `id_at(i)` for i < count. */
template <typename WeightAt, typename IdAt>
int32_t draw_from(uint32_t count, double uniform, WeightAt&& weight_at, IdAt&& id_at) {
  double total = 0;
  for (uint32_t i = 0; i < count; ++i) total += weight_at(i);
  const double target = uniform * total;
  double running = 0;
  int32_t last = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const double weight = weight_at(i);
    if (!(weight > 0)) continue;
    running += weight;
    last = id_at(i);
    if (running > target) break;
  }
  return last;
}

}  // namespace

double uniform_number(uint32_t seed_low, uint32_t seed_high, uint32_t draw) {
  const uint64_t seed = (uint64_t{seed_high} << 32) | seed_low;
  const uint64_t z = mix(mix(seed) + (uint64_t{draw} + 1) * 0x9e3779b97f4a7c15u);
  return static_cast<double>(z >> 11) * 0x1p-53;
}

size_t candidate_scratch_bytes(uint32_t vocabulary) { return kBins * sizeof(uint32_t) + size_t{vocabulary} * sizeof(Candidate); }

Candidate* best_candidates(const float* logits, uint32_t vocabulary, uint32_t count, std::byte* scratch, uint32_t* found) {
  uint32_t* bins = reinterpret_cast<uint32_t*>(scratch);
  Candidate* candidates = reinterpret_cast<Candidate*>(scratch + kBins * sizeof(uint32_t));
  std::fill_n(bins, kBins, 0u);
  for (uint32_t i = 0; i < vocabulary; ++i) ++bins[order_key(logits[i]) >> 16];

  uint32_t bin = kBins - 1, above = bins[bin];
  while (above < count && bin > 0) above += bins[--bin];

  const uint32_t lowest_key = bin << 16;
  const float lowest = -INFINITY;
  uint32_t n = 0;
  for (uint32_t i = 0; i < vocabulary; ++i) {
    if (order_key(logits[i]) >= lowest_key && logits[i] > lowest) candidates[n++] = {logits[i], static_cast<int32_t>(i)};
  }
  *found = std::min(n, count);
  std::partial_sort(candidates, candidates + *found, candidates + n, is_better);
  return candidates;
}

int32_t draw_token(
    const float* logits, const float* weights, uint32_t vocabulary, const Filter& filter, double uniform, std::byte* scratch) {
  const bool has_top_k = filter.top_k > 0 && filter.top_k < vocabulary;
  const bool has_top_p = filter.top_p < 1;
  if (!has_top_k && !has_top_p) {
    // The best weight is 1.
    const auto weight_at = [&](uint32_t i) { return weights[i] >= filter.min_p ? double{weights[i]} : 0.0; };
    return draw_from(vocabulary, uniform, weight_at, [](uint32_t i) { return static_cast<int32_t>(i); });
  }

  // Without top-k, the number of tokens that reach top-p is unknown: sort an increasing number of them.
  uint32_t wanted = has_top_k ? filter.top_k : std::min(vocabulary, 256u);
  double total = 0;
  if (!has_top_k) {
    for (uint32_t i = 0; i < vocabulary; ++i) total += weights[i];
  }
  Candidate* best = nullptr;
  uint32_t kept = 0;
  for (;; wanted = wanted > vocabulary / 16 ? vocabulary : wanted * 16) {
    uint32_t found = 0;
    best = best_candidates(logits, vocabulary, wanted, scratch, &found);
    if (has_top_k) {
      total = 0;
      for (uint32_t i = 0; i < found; ++i) total += weights[best[i].id];
    }
    kept = found;
    if (!has_top_p) break;
    double running = 0;
    bool is_reached = false;
    for (uint32_t i = 0; i < found && !is_reached; ++i) {
      running += weights[best[i].id];
      is_reached = running >= filter.top_p * total;
      if (is_reached) kept = i + 1;
    }
    if (is_reached || has_top_k || wanted >= vocabulary) break;
  }
  while (kept > 1 && weights[best[kept - 1].id] < filter.min_p) --kept;

  std::sort(best, best + kept, [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return draw_from(kept, uniform, [&](uint32_t i) { return double{weights[best[i].id]}; }, [&](uint32_t i) { return best[i].id; });
}

}  // namespace markbase::cpu
