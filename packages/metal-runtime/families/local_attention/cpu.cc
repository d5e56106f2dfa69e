/**
 * local_attention: softmax over the last `reach` rows of a slot, with relative keys for each distance and capped scores, [rows, heads,
 * width]. One item is one row: all of its keys fit into the first-level cache.
 */
#include "local_attention_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"
#include "rows_before.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** One head of one row: its query, and the key and value of the row itself; those at distance d are d strides before. */
struct Head {
  const float* q;
  const float* k;
  const float* v;
  const float* relative_keys;  ///< of distance 0
  size_t relative_stride;      ///< between two distances
  float* out;
};

/** scores[d] = (q * query_scale) . (k_d * key_scale + relative_keys_d) for d < count; rounded up to 4, the rest repeat the last. */
void score(const LocalAttentionParams& p, const Head& head, const float* query_scale, uint32_t count, float* scores) {
  const F32 key_scale = splat(p.key_scale);
  for (uint32_t first = 0; first < count; first += 4) {
    const float* keys[4];
    const float* relative[4];
    for (uint32_t n = 0; n < 4; ++n) {
      const size_t d = smaller(first + n, count - 1);
      keys[n] = head.k - d * p.k_stride;
      relative[n] = head.relative_keys + d * head.relative_stride;
    }
    F32 s[4] = {};
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) {
      const F32 q = load(head.q + i, n) * load(query_scale + i, n);
      for (uint32_t key = 0; key < 4; ++key) {
        s[key] = fma(q, fma(load(keys[key] + i, n), key_scale, load(relative[key] + i, n)), s[key]);
      }
    });
    const F32x4 sums = sum4(s[0], s[1], s[2], s[3]);
    __builtin_memcpy(scores + first, &sums, sizeof sums);
  }
}

/** Turns `count` scores into weights: softmax(cap * tanh(scores / cap)). */
void weigh(float* scores, uint32_t count, float cap) {
  const uint32_t end = (count + kLanes - 1) / kLanes * kLanes;
  softcap_row(scores, count, cap, scores);
  // Minus infinity beyond the end: e^-infinity adds an exact 0 to the sum.
  for (uint32_t d = count; d < end; ++d) scores[d] = -__builtin_inff();
  float best = scores[0];
  for (uint32_t d = 1; d < count; ++d) best = scores[d] > best ? scores[d] : best;
  F32 total = {};
  for (uint32_t d = 0; d < end; d += kLanes) {
    const F32 weight = exp(load(scores + d) - best);
    store(scores + d, weight);
    total += weight;
  }
  const F32 share = splat(1.0f / sum(total));
  for (uint32_t d = 0; d < end; d += kLanes) store(scores + d, load(scores + d) * share);
}

void attend(const LocalAttentionParams& p, const Head& head, const float* query_scale, uint32_t count) {
  float scores[kMaxLocalReach];
  score(p, head, query_scale, count, scores);
  weigh(scores, count, p.cap);
  for_each_vector(p.width, [&](uint32_t i, uint32_t n) {
    F32 total = {};
    for (size_t d = 0; d < count; ++d) total = fma(load(head.v - d * p.v_stride + i, n), splat(scores[d]), total);
    store(head.out + i, total, n);
  });
}

uint32_t items(const CpuCall& call, uint32_t) { return call.step->rows[kAllRows]; }

void run(const CpuCall& call, uint32_t, uint32_t begin, uint32_t end, uint32_t) {
  const auto& p = params_of<LocalAttentionParams>(call);
  for (size_t row = begin; row < end; ++row) {
    const uint32_t count = smaller(p.reach, rows_before(*call.step, static_cast<uint32_t>(row)) + 1);
    for (uint32_t h = 0; h < p.heads; ++h) {
      const size_t offset = size_t{h} * p.width;
      const Head head = {buffer<const float>(call, 0) + row * p.q_stride + offset,
                         buffer<const float>(call, 1) + row * p.k_stride + offset,
                         buffer<const float>(call, 2) + row * p.v_stride + offset,
                         buffer<const float>(call, 4) + offset,
                         size_t{p.heads} * p.width,
                         buffer<float>(call, 5) + row * p.out_stride + offset};
      attend(p, head, buffer<const float>(call, 3), count);
    }
  }
}

}  // namespace

const CpuKernel kLocalAttention = {"local_attention", 1, items, run, nullptr};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
