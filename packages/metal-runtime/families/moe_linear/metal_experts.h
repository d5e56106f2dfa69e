#pragma once

/**
 * Rows as tensor cores multiply them with experts of 4 bits, on NVIDIA GPUs. The including file has metal_stdlib, scalar_type.h,
 * metal_storage.h, metal_math.h and metal_matrix.h.
 *
 * Codes are numbers of bf16 exactly, as 128 + code; those that lie four apart in a word make a pair. So a row is cut into words
 * of eight columns, rounded to bf16, as pairs (0, 4), (1, 5), (2, 6), (3, 7), and padded with zeros to units of 128 columns.
 * Beside it lie the totals of every 64 columns, for the biases: sums of what was rounded.
 */

#pragma METAL fp contract(off)

constant constexpr uint kUnitColumns = 128;
constant constexpr uint kUnitWords = kUnitColumns / 8;
/** Columns of a scale and a bias: the only group of codes that these kernels take. */
constant constexpr uint kGroupColumns = 64;
/** Words that each of kRowThreads threads makes of a row: rows have up to 3072 columns. */
constant constexpr uint kOwnWords = 2;
/** Most experts that route_by_rank chooses among, and most that a row can choose. */
constant constexpr uint kRankedExperts = 256;
constant constexpr uint kRankedChosen = 32;

inline uint units_of(uint in) { return (in + kUnitColumns - 1) / kUnitColumns; }

/** Rows in the memory of a step, one after the other: words of all rows, then totals of all rows. */
struct PreparedRows {
  device uint4* words;
  device float* totals;
};

inline PreparedRows prepared_rows(device uint4* memory, uint count, uint in) {
  return {memory, (device float*)(memory + ulong(count) * units_of(in) * kUnitWords)};
}

/** Keeps a word, or makes zeros of it: a condition would become a branch around the loads behind it. */
inline uint4 mask_if(bool keeps) { return uint4(keeps ? 0xffffffffu : 0u); }

/** Pairs of eight columns. */
inline uint4 pair_columns(float4 low, float4 high) {
  return uint4(nvidia::bf16_pair(low.x, high.x), nvidia::bf16_pair(low.y, high.y), nvidia::bf16_pair(low.z, high.z),
               nvidia::bf16_pair(low.w, high.w));
}

/** The sum of the 64 columns of which eight neighbouring lanes have a word each. */
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

/** What a thread holds of a row before it is normalised: words thread_index, thread_index + kRowThreads. */
struct OwnWords {
  float4 low[kOwnWords], high[kOwnWords];
  uint4 gain[kOwnWords];  ///< numbers of bf16

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

  /** `Words`, `Totals`: pointers to where the row goes. */
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

/** A thread's share of the squares of a row, in the order of vector_factor of metal_norm.h: the bits of rms_norm. */
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

/** norm_factor of a row: from the squares of the own simdgroup, or of all, which left theirs in `partial`. */
inline float factor_of_row(float own, threadgroup const float* partial, uint width, float eps) {
  if (width <= kSimdgroupWidth) return norm_factor(own, width, eps);
  float total = partial[0];
  for (uint i = 1; i < kRowSimdgroups; ++i) total += partial[i];
  return norm_factor(total, width, eps);
}

/**
 * Where the logits of a row go, and what is chosen by them. A thread has one logit; its expert is chosen when less than top_k
 * experts come before it: those with larger logits, and those with the same one and a lower number. So it is with route_row.
 */
struct RankedChoice {
  threadgroup uint4* keys;    ///< [kRankedExperts / 4]
  threadgroup uint* experts;  ///< [kRankedChosen]
  threadgroup float* logits;  ///< [kRankedChosen]

  void place(float logit, uint expert_count, uint expert) const {
    ((threadgroup uint*)keys)[expert] = expert < expert_count ? order_key(logit) : 0u;
  }

  /** Behind a barrier. */
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

  /** Behind another one, by one simdgroup: stores the choice, and shares of the bits that route_row gives. */
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
