#pragma once

/**
 * Selection among the logits of one row, by one threadgroup. Metal only; the including file has metal_stdlib and
 * metal_math.h.
 *
 * Weights are e^((logit - maximum) / temperature) in fixed point: their sums are exact and independent of order, where float32 sums would
 * shift the boundaries between tokens of a large vocabulary. Better: larger logit, then lower id.
 */

#pragma METAL fp contract(off)

/** Threads of the threadgroup that chooses. */
constant constexpr uint kChooseThreads = 512;
constant constexpr uint kChooseSimdgroups = kChooseThreads / kLanes;

/** Longest list of candidates in threadgroup memory. */
constant constexpr uint kMaxList = 512;

/** Bins of a pass over 8 bits of the keys. */
constant constexpr uint kBins = 256;

/** A weight of 1: 2^18 of them fit into 58 bits. */
constant constexpr float kFixedOne = 1099511627776.0f;

/** Limbs of a fixed-point weight in counters of 32 bits: 14 bits each, so that 2^18 of them fit. */
constant constexpr uint kLimbBits = 14;
constant constexpr uint kLimbs = 3;

/** The penalised logits of a row, and the factors that turn them into weights. */
struct Candidates {
  device const float* logits;
  uint vocabulary;
  float maximum;
  float temperature;

  /** Excluded ids have kLowest. */
  bool is_candidate(uint id) const { return logits[id] > kLowest; }
  float weight(float logit) const { return exponential((logit - maximum) / temperature); }
  ulong fixed(float logit) const { return ulong(weight(logit) * kFixedOne); }
};

/** A cut: keeps everything that is at least as good as this. */
struct Cut {
  uint key;
  uint id;
  bool keeps(uint other_key, uint other_id) const { return other_key > key || (other_key == key && other_id <= id); }
};

/** Threadgroup memory of a selection. */
struct SelectMemory {
  threadgroup atomic_uint* bins;  ///< [kBins * kLimbs]
  threadgroup ulong* sums;        ///< [kChooseThreads]
  threadgroup ulong* result;      ///< [2]
  threadgroup uint* found;        ///< [2]
};

/** The upper 64 bits of a product. */
inline ulong multiply_high(ulong a, ulong b) {
  const ulong a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
  const ulong low = a_low * b_low, cross = a_high * b_low, other = a_low * b_high;
  const ulong middle = (low >> 32) + (cross & 0xffffffffu) + (other & 0xffffffffu);
  return a_high * b_high + (cross >> 32) + (other >> 32) + (middle >> 32);
}

/** splitmix64's finaliser. */
inline ulong mix(ulong z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
  return z ^ (z >> 31);
}

/** floor(uniform * total) for the uniform number in [0, 1) of a seed and draw, 53 random bits. */
inline ulong drawn_target(uint seed_low, uint seed_high, uint draw, ulong total) {
  const ulong seed = (ulong(seed_high) << 32) | seed_low;
  const ulong z = mix(mix(seed) + (ulong(draw) + 1) * 0x9e3779b97f4a7c15ul);
  return multiply_high(z >> 11 << 11, total);
}

/** ceil(fraction * total) for a fraction below 1. */
inline ulong share_of(float fraction, ulong total) {
  const ulong scaled = ulong(max(fraction, 0.0f) * 4294967296.0f) << 32;
  return multiply_high(scaled, total) + (scaled * total != 0 ? 1 : 0);
}

/** The sum of one value of every thread, returned to all threads. */
inline ulong total_of(ulong value, SelectMemory memory, uint thread_index) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  memory.sums[thread_index] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint reach = kChooseThreads / 2; reach > 0; reach /= 2) {
    if (thread_index < reach) memory.sums[thread_index] += memory.sums[thread_index + reach];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  return memory.sums[0];
}

/** The measure that a selection sums: 1 per candidate, or its weight. */
template <bool is_weighted>
inline ulong measure(Candidates from, float logit) {
  return is_weighted ? from.fixed(logit) : 1ul;
}

/**
 * The cut that keeps the fewest best candidates, among those that `limit` keeps, whose measures reach `wanted`; if they do not, it keeps
 * all of them. Every thread of the threadgroup calls it.
 */
template <bool is_weighted>
inline Cut select_best(Candidates from, Cut limit, ulong wanted, SelectMemory memory, uint thread_index) {
  uint prefix = 0;
  ulong above = 0;
  for (uint pass = 0; pass < 4; ++pass) {
    const uint shift = 24 - 8 * pass;
    for (uint i = thread_index; i < kBins * kLimbs; i += kChooseThreads) {
      atomic_store_explicit(memory.bins + i, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint id = thread_index; id < from.vocabulary; id += kChooseThreads) {
      const float logit = from.logits[id];
      const uint key = order_key(logit);
      if (!(logit > kLowest) || !limit.keeps(key, id)) continue;
      if (pass > 0 && (key ^ prefix) >> (shift + 8) != 0) continue;
      const ulong amount = measure<is_weighted>(from, logit);
      threadgroup atomic_uint* bin = memory.bins + (key >> shift & 255u) * kLimbs;
      for (uint limb = 0; limb < kLimbs; ++limb) {
        const uint piece = uint(amount >> (limb * kLimbBits)) & ((1u << kLimbBits) - 1u);
        if (piece != 0) atomic_fetch_add_explicit(bin + limb, piece, memory_order_relaxed);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_index == 0) {
      uint chosen = 0;
      ulong sum = above;
      for (uint i = 0; i < kBins; ++i) {
        const uint bin = kBins - 1 - i;
        ulong amount = 0;
        for (uint limb = 0; limb < kLimbs; ++limb) {
          amount += ulong(atomic_load_explicit(memory.bins + bin * kLimbs + limb, memory_order_relaxed)) << (limb * kLimbBits);
        }
        // The lowest bin means "all of them" if the measures do not reach `wanted`.
        chosen = bin;
        if (sum + amount >= wanted && amount != 0) break;
        if (bin != 0) sum += amount;
      }
      memory.found[0] = prefix | chosen << shift;
      memory.result[0] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // There are two barriers between this and the writes of the next pass.
    prefix = memory.found[0];
    above = memory.result[0];
  }

  // Of the candidates with the last key, which have equal weights, keep the lowest ids that are still needed.
  ulong count = 0, amount = 0;
  for (uint id = thread_index; id < from.vocabulary; id += kChooseThreads) {
    const float logit = from.logits[id];
    if (!(logit > kLowest) || order_key(logit) != prefix || !limit.keeps(prefix, id)) continue;
    ++count;
    amount = measure<is_weighted>(from, logit);
  }
  const ulong equal = total_of(count, memory, thread_index);
  const ulong weighted = total_of(count * amount, memory, thread_index);
  if (equal <= 1 || weighted == 0 || above + weighted <= wanted) return {prefix, limit.key == prefix ? limit.id : ~0u};
  const ulong each = weighted / equal;
  const ulong needed = wanted > above ? (wanted - above + each - 1) / each : 1;

  // Every thread counts a range of ids; the thread whose range contains the last needed id searches for it.
  const uint range = (from.vocabulary + kChooseThreads - 1) / kChooseThreads;
  const uint begin = min(thread_index * range, from.vocabulary), end = min(begin + range, from.vocabulary);
  uint own = 0;
  for (uint id = begin; id < end; ++id) {
    if (from.is_candidate(id) && order_key(from.logits[id]) == prefix && limit.keeps(prefix, id)) ++own;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  memory.sums[thread_index] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ulong before = 0;
  for (uint i = 0; i < thread_index; ++i) before += memory.sums[i];
  if (before < needed && before + own >= needed) {
    for (uint id = begin; id < end; ++id) {
      if (!from.is_candidate(id) || order_key(from.logits[id]) != prefix || !limit.keeps(prefix, id)) continue;
      if (++before == needed) memory.found[1] = id;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return {prefix, memory.found[1]};
}

/** Floats in the summary of a chunk: maximum, its lowest id, sum of e^(logit - maximum). */
constant constexpr uint kSummary = 3;

/** The combined summary of the chunks of a row. */
struct RowSummary {
  float maximum;
  uint best;    ///< lowest id that has it; ~0: every id is excluded
  float total;  ///< of e^(logit - maximum)
};

#if defined(MARKBASE_NVIDIA)
/** Chunks per lane: 64 chunks cover the largest vocabulary. */
constant constexpr uint kLaneChunks = 2;

/** Chunks are distributed over lanes, and sums run in the order of the chunks. */
inline RowSummary summarise(device const float* summaries, uint chunks, uint lane) {
  float maxima[kLaneChunks], ids[kLaneChunks], sums[kLaneChunks];
#pragma unroll
  for (uint k = 0; k < kLaneChunks; ++k) {
    device const float* chunk = summaries + min(lane + k * kLanes, chunks - 1) * kSummary;
    maxima[k] = chunk[0];
    ids[k] = chunk[1];
    sums[k] = chunk[2];
  }
  // Keeps the compiler from separating the loads.
  simdgroup_barrier(mem_flags::mem_threadgroup);
  uint most = 0;
#pragma unroll
  for (uint k = 0; k < kLaneChunks; ++k) most = max(most, maxima[k] > kLowest ? order_key(maxima[k]) : 0u);
  most = simd_max(most);
  if (most == 0) return {kLowest, ~0u, 0.0f};
  uint winner = ~0u;
#pragma unroll
  for (uint k = 0; k < kLaneChunks; ++k) winner = min(winner, order_key(maxima[k]) == most ? lane + k * kLanes : ~0u);
  winner = simd_min(winner);
  RowSummary row = {kLowest, ~0u, 0.0f};
#pragma unroll
  for (uint k = 0; k < kLaneChunks; ++k) {
    const float maximum = simd_shuffle(maxima[k], ushort(winner % kLanes)), id = simd_shuffle(ids[k], ushort(winner % kLanes));
    row.maximum = winner / kLanes == k ? maximum : row.maximum;
    row.best = winner / kLanes == k ? as_type<uint>(id) : row.best;
  }
#pragma unroll
  for (uint k = 0; k < kLaneChunks; ++k) {
    const bool counts = lane + k * kLanes < chunks && maxima[k] > kLowest;
    const float term = counts ? sums[k] * exponential(maxima[k] - row.maximum) : 0.0f;
#pragma unroll
    for (uint i = 0; i < kLanes; ++i) row.total += simd_shuffle(term, ushort(i));
  }
  return row;
}
#else
inline RowSummary summarise(device const float* summaries, uint chunks, uint) {
  RowSummary row = {kLowest, ~0u, 0.0f};
  for (uint i = 0; i < chunks; ++i) {
    if (summaries[i * kSummary] <= row.maximum) continue;
    row.maximum = summaries[i * kSummary];
    row.best = as_type<uint>(summaries[i * kSummary + 1]);
  }
  for (uint i = 0; i < chunks; ++i) {
    if (summaries[i * kSummary] > kLowest) row.total += summaries[i * kSummary + 2] * exponential(summaries[i * kSummary] - row.maximum);
  }
  return row;
}
#endif
