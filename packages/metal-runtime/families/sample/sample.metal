/**
 * sample: chooses one token per output row from its logits [N, V], and reports log-probabilities.
 *
 * Order: suppressed and masked ids are excluded; logit bias; penalties (repetition, presence, frequency); temperature; top-k;
 * top-p; min-p; draw.
 * sample_penalise writes a penalised copy, one threadgroup per chunk, with maximum and sum of exponentials of each chunk;
 * sample_choose takes one threadgroup per row. NaN counts as excluded; a row without any candidate gives token -1.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "sample_params.h"
#include "step_samples.h"
#include "metal_math.h"
#include "metal_sample.h"

/** Logits that a threadgroup penalises. */
constant constexpr uint kChunk = 4096;

/** Maximum number of reported alternatives; kMaxTopLogprobs of native/device/step.h. */
constant constexpr uint kAlternatives = 20;

/** SampleRow::allowed_begin of a row without a mask: kNoMask of native/device/step.h. */
constant constexpr uint kNoMask = 0xffffffffu;

/** The sampling parameters of a row; on NVIDIA GPUs they are all loaded together. */
#if defined(MARKBASE_NVIDIA)
#define MARKBASE_SAMPLE_ROW const SampleRow
#else
#define MARKBASE_SAMPLE_ROW device const SampleRow&
#endif

/** Replaces non-finite logits by finite ones: excluded ids have kLowest. */
inline float bounded_logit(float logit) {
  if (is_nan(logit)) return kLowest;
  return clamp(logit, kLowest, -kLowest);
}

/** Copies the logits of a chunk to threadgroup memory, excluded ones as kLowest. A barrier must follow. */
inline void load_chunk(constant SampleKernelParams& p,
                       device const float* logits,
                       uint mask,
                       device const uint* allowed,
                       uint first,
                       uint width,
                       threadgroup float* chunk,
                       uint thread_index) {
#if defined(MARKBASE_NVIDIA)
  // Number of loads in flight.
  constexpr uint kOwn = kChunk / kRowThreads;
  float values[kOwn];
  uint words[kOwn];
#pragma unroll
  for (uint k = 0; k < kOwn; ++k) {
    values[k] = logits[first + min(thread_index + k * kRowThreads, width - 1)];
    words[k] = ~0u;
  }
  if (mask != kNoMask) {
#pragma unroll
    for (uint k = 0; k < kOwn; ++k) words[k] = allowed[mask + (first + min(thread_index + k * kRowThreads, width - 1)) / 32];
  }
  // Keeps the compiler from separating the loads.
  simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint k = 0; k < kOwn; ++k) {
    const uint i = thread_index + k * kRowThreads;
    const float bounded = clamp(values[k], kLowest, -kLowest);
    const bool counts = !is_nan(values[k]) && (words[k] >> ((first + i) % 32) & 1u) != 0;
    if (i < width) chunk[i] = counts ? bounded : kLowest;
  }
#else
  for (uint i = thread_index; i < width; i += kRowThreads) {
    const uint id = first + i;
    const bool is_allowed = mask == kNoMask || (allowed[mask + id / 32] >> (id % 32) & 1u) != 0;
    chunk[i] = is_allowed ? bounded_logit(logits[id]) : kLowest;
  }
#endif
}

kernel void sample_penalise(constant SampleKernelParams& p [[buffer(0)]],
                            constant Launch& launch [[buffer(1)]],
                            device const float* logits [[buffer(2)]],
                            device const int* suppressed [[buffer(3)]],
                            device float* summaries [[buffer(22)]],
                            device float* penalised [[buffer(23)]],
                            device const SampleRow* rows [[buffer(24)]],
                            device const int* history_token [[buffer(25)]],
                            device const int* history_count [[buffer(26)]],
                            device const int* bias_token [[buffer(27)]],
                            device const float* bias_value [[buffer(28)]],
                            device const uint* allowed [[buffer(29)]],
                            uint2 at [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float chunk[kChunk];
  threadgroup float partial[kRowSimdgroups];
  threadgroup uint best_keys[kRowSimdgroups], best_ids[kRowSimdgroups];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint row = at.y, first = at.x * kChunk;
  const uint width = min(kChunk, p.vocabulary - first);
  MARKBASE_SAMPLE_ROW own = rows[row];
#if defined(MARKBASE_NVIDIA)
  // The first list entries of every thread, loaded together with the logits.
  const int first_suppressed = p.suppressed == 0 ? 0 : suppressed[min(thread_index, p.suppressed - 1)];
#endif
  load_chunk(p, logits + ulong(row) * p.logits_stride, own.allowed_begin, allowed, first, width, chunk, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < p.suppressed; i += kRowThreads) {
#if defined(MARKBASE_NVIDIA)
    const uint id = uint(i == thread_index ? first_suppressed : suppressed[i]) - first;
#else
    const uint id = uint(suppressed[i]) - first;
#endif
    if (id < width) chunk[id] = kLowest;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = own.bias_begin + thread_index; i < own.bias_end; i += kRowThreads) {
    const uint id = uint(bias_token[i]) - first;
    if (id < width && chunk[id] > kLowest) chunk[id] = bounded_logit(chunk[id] + bias_value[i]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = own.history_begin + thread_index; i < own.history_end; i += kRowThreads) {
    const uint id = uint(history_token[i]) - first;
    if (id >= width || chunk[id] <= kLowest) continue;
    const float penalty = own.repetition_penalty;
    float logit = chunk[id] > 0.0f ? chunk[id] / penalty : chunk[id] * penalty;
    const int count = history_count[i];
    if (count > 0) {
      logit = logit - own.presence_penalty;
      logit = logit - own.frequency_penalty * float(count);
    }
    chunk[id] = bounded_logit(logit);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  uint best_key = 0, best_id = ~0u;
  for (uint i = thread_index; i < width; i += kRowThreads) {
    const float logit = chunk[i];
    penalised[ulong(row) * p.vocabulary + first + i] = logit;
    const uint key = order_key(logit);
    if (key > best_key) {
      best_key = key;
      best_id = first + i;
    }
  }
  const uint most = simd_max(best_key);
  const uint lowest = simd_min(best_key == most ? best_id : ~0u);
  if (lane == 0) {
    best_keys[simdgroup] = most;
    best_ids[simdgroup] = lowest;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  best_key = best_keys[0];
  best_id = best_ids[0];
  for (uint i = 1; i < kRowSimdgroups; ++i) {
    if (best_keys[i] < best_key) continue;
    best_id = best_keys[i] > best_key ? best_ids[i] : min(best_id, best_ids[i]);
    best_key = best_keys[i];
  }
  const float maximum = chunk[best_id - first];
  float sum = 0.0f;
  for (uint i = thread_index; i < width; i += kRowThreads) {
    if (chunk[i] > kLowest) sum += exponential(chunk[i] - maximum);
  }
  sum = sum_over_threads(sum, partial, simdgroup, lane);
  if (thread_index == 0) {
    const uint chunks = (p.vocabulary + kChunk - 1) / kChunk;
    device float* summary = summaries + (ulong(row) * chunks + at.x) * kSummary;
    summary[0] = maximum;
    summary[1] = as_type<float>(best_id);
    summary[2] = sum;
  }
}

/** A list of candidates in threadgroup memory, in any order. */
struct CandidateList {
  threadgroup float* logits;
  threadgroup uint* ids;
  threadgroup ulong* weights;
  uint size;
};

/** Collects the candidates that a cut keeps, at most kMaxList, in a list. `counter`: one word. */
inline CandidateList list_candidates(Candidates from,
                                     Cut cut,
                                     threadgroup float* logits,
                                     threadgroup uint* ids,
                                     threadgroup ulong* weights,
                                     threadgroup atomic_uint* counter,
                                     uint thread_index) {
  if (thread_index == 0) atomic_store_explicit(counter, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint id = thread_index; id < from.vocabulary; id += kChooseThreads) {
    const float logit = from.logits[id];
    if (!(logit > kLowest) || !cut.keeps(order_key(logit), id)) continue;
    const uint place = atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);
    if (place >= kMaxList) continue;
    logits[place] = logit;
    ids[place] = id;
    weights[place] = from.fixed(logit);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint size = min(atomic_load_explicit(counter, memory_order_relaxed), kMaxList);
  return {logits, ids, weights, size};
}

/** True where a of a list is better than b. */
inline bool is_better(CandidateList list, uint a, uint b) {
  const uint a_key = order_key(list.logits[a]), b_key = order_key(list.logits[b]);
  return a_key != b_key ? a_key > b_key : list.ids[a] < list.ids[b];
}

kernel void sample_choose(constant SampleKernelParams& p [[buffer(0)]],
                          constant Launch& launch [[buffer(1)]],
                          device int* tokens [[buffer(4)]],
                          device float* logprobs [[buffer(5)]],
                          device int* top_tokens [[buffer(6)]],
                          device float* top_logprobs [[buffer(7)]],
                          device const float* summaries [[buffer(22)]],
                          device const float* penalised [[buffer(23)]],
                          device const SampleRow* rows [[buffer(24)]],
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kBins * kLimbs];
  threadgroup ulong sums[kChooseThreads], result[2];
  threadgroup uint found[2], ids[kMaxList];
  threadgroup float logits[kMaxList];
  threadgroup ulong weights[kMaxList];
  threadgroup atomic_uint winner;
  const SelectMemory memory = {bins, sums, result, found};
  const uint chunks = (p.vocabulary + kChunk - 1) / kChunk;
  device const float* own = summaries + ulong(row) * chunks * kSummary;
  device const float* row_logits = penalised + ulong(row) * p.vocabulary;

  // 1. Maximum, its lowest id, and the logarithm of the sum of exponentials; every thread, or simdgroup, computes them for itself.
  MARKBASE_SAMPLE_ROW wishes = rows[row];
  const RowSummary summary = summarise(own, chunks, thread_index % kLanes);
  const float maximum = summary.maximum;
  const uint best = summary.best;
  const float log_total = logarithm(max(summary.total, 1.0f));
  const float nothing = as_type<float>(0xff800000u);
  const uint wanted = min(wishes.top_logprobs, kAlternatives);
  if (best == ~0u) {
    if (thread_index == 0) {
      tokens[row] = -1;
      logprobs[row] = as_type<float>(0x7fc00000u);
    }
    if (thread_index < wanted) {
      top_tokens[row * kAlternatives + thread_index] = -1;
      top_logprobs[row * kAlternatives + thread_index] = nothing;
    }
    return;
  }
  const Cut everything = {0u, ~0u};

  // 2. Alternatives: a short list; the rank of each is the number of better ones.
  if (wanted > 0) {
    const Candidates plain = {row_logits, p.vocabulary, maximum, 1.0f};
    const Cut cut = select_best<false>(plain, everything, wanted, memory, thread_index);
    const CandidateList list = list_candidates(plain, cut, logits, ids, weights, &winner, thread_index);
    if (thread_index < wanted) {
      top_tokens[row * kAlternatives + thread_index] = -1;
      top_logprobs[row * kAlternatives + thread_index] = nothing;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (thread_index < min(list.size, wanted)) {
      uint place = 0;
      for (uint i = 0; i < list.size; ++i) {
        if (is_better(list, i, thread_index)) ++place;
      }
      top_tokens[row * kAlternatives + place] = int(list.ids[thread_index]);
      top_logprobs[row * kAlternatives + place] = (list.logits[thread_index] - maximum) - log_total;
    }
  }

  const float temperature = wishes.temperature;
  if (temperature <= 0.0f) {
    if (thread_index == 0) {
      tokens[row] = int(best);
      logprobs[row] = -log_total;
    }
    return;
  }

  // 3. The draw: first the cut of top-k, top-p and min-p, then the token at which the running sum passes the target.
  const Candidates from = {row_logits, p.vocabulary, maximum, temperature};
  const uint top_k = wishes.top_k;
  const float top_p = wishes.top_p, min_p = wishes.min_p;
  const bool has_top_k = top_k > 0 && top_k < p.vocabulary;
  Cut cut = everything;
  if (has_top_k) cut = select_best<false>(from, cut, top_k, memory, thread_index);

  if (has_top_k && top_k <= kMaxList) {
    const CandidateList list = list_candidates(from, cut, logits, ids, weights, &winner, thread_index);
    const bool is_listed = thread_index < list.size;
    const ulong weight = is_listed ? list.weights[thread_index] : 0;
    ulong better = 0;
    for (uint i = 0; is_listed && i < list.size; ++i) {
      if (is_better(list, i, thread_index)) better += list.weights[i];
    }
    const ulong all = total_of(weight, memory, thread_index);
    const bool is_best = is_listed && list.ids[thread_index] == best;
    bool is_kept = is_listed && (top_p >= 1.0f || is_best || better < share_of(top_p, all));
    is_kept = is_kept && (is_best || from.weight(list.logits[thread_index]) >= min_p);
    const ulong kept = total_of(is_kept ? weight : 0, memory, thread_index);
    if (is_listed) list.weights[thread_index] = is_kept ? weight : 0;
    if (thread_index == 0) atomic_store_explicit(&winner, best, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const ulong target = drawn_target(wishes.seed_low, wishes.seed_high, wishes.draw, kept);
    ulong before = 0;
    for (uint i = 0; is_listed && i < list.size; ++i) {
      if (list.ids[i] < list.ids[thread_index]) before += list.weights[i];
    }
    const ulong own_weight = is_listed ? list.weights[thread_index] : 0;
    if (own_weight != 0 && before <= target && before + own_weight > target) {
      atomic_store_explicit(&winner, list.ids[thread_index], memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  } else {
    const uint range = (p.vocabulary + kChooseThreads - 1) / kChooseThreads;
    const uint begin = min(thread_index * range, p.vocabulary), end = min(begin + range, p.vocabulary);
    if (top_p < 1.0f) {
      ulong sum = 0;
      for (uint id = thread_index; id < p.vocabulary; id += kChooseThreads) {
        const float logit = row_logits[id];
        if (logit > kLowest && cut.keeps(order_key(logit), id)) sum += from.fixed(logit);
      }
      const ulong all = total_of(sum, memory, thread_index);
      cut = select_best<true>(from, cut, share_of(top_p, all), memory, thread_index);
    }
    ulong sum = 0;
    for (uint id = begin; id < end; ++id) {
      const float logit = row_logits[id];
      if (!(logit > kLowest) || !cut.keeps(order_key(logit), id)) continue;
      if (from.weight(logit) >= min_p || id == best) sum += from.fixed(logit);
    }
    const ulong kept = total_of(sum, memory, thread_index);
    const ulong target = drawn_target(wishes.seed_low, wishes.seed_high, wishes.draw, kept);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    memory.sums[thread_index] = sum;
    if (thread_index == 0) atomic_store_explicit(&winner, best, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong before = 0;
    for (uint i = 0; i < thread_index; ++i) before += memory.sums[i];
    if (before <= target && before + sum > target) {
      for (uint id = begin; id < end; ++id) {
        const float logit = row_logits[id];
        if (!(logit > kLowest) || !cut.keeps(order_key(logit), id)) continue;
        if (!(from.weight(logit) >= min_p) && id != best) continue;
        before += from.fixed(logit);
        if (before <= target) continue;
        atomic_store_explicit(&winner, id, memory_order_relaxed);
        break;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (thread_index == 0) {
    const uint token = atomic_load_explicit(&winner, memory_order_relaxed);
    tokens[row] = int(token);
    logprobs[row] = (row_logits[token] - maximum) - log_total;
  }
}
