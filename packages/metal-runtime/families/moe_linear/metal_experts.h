#pragma once

/**
 * Layout of rows that tensor cores multiply with 4-bit experts, on NVIDIA GPUs. The including file has metal_stdlib, scalar_type.h,
 * metal_storage.h, metal_math.h and metal_matrix.h.
 *
 * Codes are exact in bf16 as 128 + code; codes four apart in a word form a pair. A row is therefore cut into words of eight columns,
 * rounded to bf16, as pairs (0, 4), (1, 5), (2, 6), (3, 7), and padded with zeros to units of 128 columns. The totals of every 64 columns,
 * sums of the rounded values, are stored with it for the biases.
 */

#pragma METAL fp contract(off)

constant constexpr uint kUnitColumns = 128;
constant constexpr uint kUnitWords = kUnitColumns / 8;
/** Columns per scale and bias: the only group size that these kernels take. */
constant constexpr uint kGroupColumns = 64;
/** Words of a row per thread, of kRowThreads threads: rows have up to 3072 columns. */
constant constexpr uint kOwnWords = 2;
/** Maximum number of experts that route_by_rank chooses among, and that a row can choose. */
constant constexpr uint kRankedExperts = 256;
constant constexpr uint kRankedChosen = 32;

inline uint units_of(uint in) { return (in + kUnitColumns - 1) / kUnitColumns; }

/** Contiguous rows in scratch memory: words of all rows, then totals of all rows. */
struct PreparedRows {
  device uint4* words;
  device float* totals;
};

inline PreparedRows prepared_rows(device uint4* memory, uint count, uint in) {
  return {memory, (device float*)(memory + ulong(count) * units_of(in) * kUnitWords)};
}

/** Keeps a word or replaces it by zeros: a condition would become a branch around the following loads. */
inline uint4 mask_if(bool keeps) { return uint4(keeps ? 0xffffffffu : 0u); }

/** Pairs of eight columns. */
inline uint4 pair_columns(float4 low, float4 high) {
  return uint4(nvidia::bf16_pair(low.x, high.x), nvidia::bf16_pair(low.y, high.y), nvidia::bf16_pair(low.z, high.z),
               nvidia::bf16_pair(low.w, high.w));
}

/** The sum of 64 columns, of which eight adjacent lanes have a word each. */
inline float total_of_group(uint4 word) {
  float total = 0.0f;
  for (uint i = 0; i < 4; ++i) {
    total += as_type<float>(word[i] << 16);
    total += as_type<float>(word[i] & 0xffff0000u);
  }
  total += simd_shuffle_xor(total, 1);
  total += simd_shuffle_xor(total, 2);
  total += simd_shuffle_xor(total, 4);
  return total;
}

/** A thread's part of a row before normalisation: words thread_index, thread_index + kRowThreads. */
struct OwnWords {
  float4 low[kOwnWords], high[kOwnWords];
  uint4 gain[kOwnWords];  ///< bf16

  void load(device const float* x, uint in, device const uchar* stored_gain, bool has_norm, uint thread_index) {
    device const float4* quads = (device const float4*)x;
#pragma unroll
    for (uint k = 0; k < kOwnWords; ++k) {
      const uint from = min(thread_index + k * kRowThreads, in / 8 - 1);
      low[k] = quads[2 * from];
      high[k] = quads[2 * from + 1];
    }
    if (!has_norm) return;
#pragma unroll
    for (uint k = 0; k < kOwnWords; ++k) {
      gain[k] = ((device const uint4*)stored_gain)[min(thread_index + k * kRowThreads, in / 8 - 1)];
    }
  }

  /** Multiplies with the factor of the norm and the gain. */
  void normalise(float factor) {
#pragma unroll
    for (uint k = 0; k < kOwnWords; ++k) {
      const uint4 upper = gain[k] & uint4(0xffff0000u), lower = gain[k] << 16;
      low[k] = low[k] * factor * as_type<float4>(uint4(lower.x, upper.x, lower.y, upper.y));
      high[k] = high[k] * factor * as_type<float4>(uint4(lower.z, upper.z, lower.w, upper.w));
    }
  }

  /** `Words`, `Totals`: pointers to the destination of the row. */
  template <typename Words, typename Totals>
  void store(Words words, Totals totals, uint in, uint thread_index) const {
#pragma unroll
    for (uint k = 0; k < kOwnWords; ++k) {
      const uint word = thread_index + k * kRowThreads;
      const uint4 pairs = pair_columns(low[k], high[k]) & mask_if(word < in / 8);
      const float total = total_of_group(pairs);
      if (word >= units_of(in) * kUnitWords) continue;
      words[word] = pairs;
      if (word % 8 == 0) totals[word / 8] = total;
    }
  }
};

/** A thread's share of the squares of a row, in the order of vector_factor of metal_norm.h, so that the bits are those of rms_norm. */
inline float own_squares(device const float* x, uint width, uint thread_index) {
  constexpr uint kTogether = 16;
  const bool is_narrow = width <= kSimdgroupWidth;
  const uint first = is_narrow ? thread_index % kLanes : thread_index, step = is_narrow ? kLanes : kRowThreads;
  float squares = 0.0f;
  for (uint begin = first; begin < width; begin += kTogether * step) {
    float values[kTogether];
#pragma unroll
    for (uint k = 0; k < kTogether; ++k) values[k] = x[min(begin + k * step, width - 1)];
#pragma unroll
    for (uint k = 0; k < kTogether; ++k) squares = begin + k * step < width ? fma(values[k], values[k], squares) : squares;
  }
  return squares;
}

/** norm_factor of a row: from the squares of its simdgroup, or of all simdgroups through `partial`. */
inline float factor_of_row(float own, threadgroup const float* partial, uint width, float eps) {
  if (width <= kSimdgroupWidth) return norm_factor(own, width, eps);
  float total = partial[0];
  for (uint i = 1; i < kRowSimdgroups; ++i) total += partial[i];
  return norm_factor(total, width, eps);
}

/**
 * The logits of a row and the resulting choice. A thread has one logit; its expert is chosen if fewer than top_k experts rank before it:
 * those with larger logits, or with an equal logit and a lower number. route_row chooses in the same way.
 */
struct RankedChoice {
  threadgroup uint4* keys;    ///< [kRankedExperts / 4]
  threadgroup uint* experts;  ///< [kRankedChosen]
  threadgroup float* logits;  ///< [kRankedChosen]

  void place(float logit, uint expert_count, uint expert) const {
    ((threadgroup uint*)keys)[expert] = expert < expert_count ? order_key(logit) : 0u;
  }

  /** Call after a barrier. */
  void choose(float logit, uint expert_count, uint top_k, uint expert) const {
    if (expert >= expert_count) return;
    const uint own = order_key(logit);
    uint rank = 0;
#pragma unroll(4)
    for (uint i = 0; i < (expert_count + 3) / 4; ++i) {
      const uint4 key = keys[i];
#pragma unroll
      for (uint j = 0; j < 4; ++j) rank += key[j] > own || (key[j] == own && 4 * i + j < expert) ? 1 : 0;
    }
    if (rank >= top_k) return;
    experts[rank] = expert;
    logits[rank] = logit;
  }

  /** Call after another barrier, from one simdgroup: stores the choice and the shares, with the bits of route_row. */
  void store(uint top_k,
             device const uchar* scales,
             uint scale_type,
             float logit_scale,
             device float* experts_out,
             device float* shares_out,
             uint lane) const {
    const uint own = min(lane, top_k - 1);
    const float scale = load_scalar(scales, scale_type, experts[own]);
    const float weight = exponential((logits[own] - logits[0]) * logit_scale);
    float total = 0.0f;
    for (uint i = 0; i < top_k; ++i) total += simd_shuffle(weight, ushort(i));
    if (lane >= top_k) return;
    experts_out[lane] = float(experts[lane]);
    shares_out[lane] = weight / total * scale;
  }
};
