#pragma once

#include "rows.h"

/**
 * Attention of a few query rows over a tile of keys, flash style: scores, their softmax with a running maximum, and the
 * weighted sum of the values, without any buffer of rows × rows.
 *
 * Keys are packed so that a register holds one element of kLanes keys, values so that a register holds kLanes elements of
 * one key. In `Float` form everything is float32, and every sum runs in an order that depends only on the index of a key in its segment. In
 * `Bfloat` form keys, values, queries and weights are pairs of bfloat16 for the dot-product instruction: two elements of a key, the same
 * element of two adjacent keys.
 */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** Keys of a packed block: two registers, so that 6 rows fill the register file with sums. */
inline constexpr uint32_t kKeyBlock = 2 * kLanes;

/** Query rows whose sums are in registers together. */
inline constexpr uint32_t kRowGroup = 6;

/** Keys that are weighted with one maximum: packed keys and values of a head fit into the second-level cache together with the scores. */
inline constexpr uint32_t kTileKeys = 256;

/** Scores of a row: the blocks of a tile extend beyond it by less than a block on both sides. */
inline constexpr uint32_t kScoreStride = kTileKeys + 2 * kKeyBlock;

/** Registers of values that are summed together. */
#if defined(__AVX512F__) || defined(__ARM_NEON)
inline constexpr uint32_t kValueVectors = 3;
#else
inline constexpr uint32_t kValueVectors = 2;
#endif

/** State of a row after some tiles; its weighted sum of values is stored separately, not normalised. */
struct RunningSoftmax {
  float maximum;
  float sum;
  float factor;  ///< factor of the last tile for the earlier sums
};

/** Replaces the scores of `count` keys by weights e^(s - maximum), padded with zeros to a whole vector. */
template <typename Exponential>
inline void weigh_tile(float* scores, uint32_t count, RunningSoftmax& state, Exponential&& exponential) {
  const uint32_t end = (count + kLanes - 1) / kLanes * kLanes;
  for (uint32_t j = count; j < end; ++j) scores[j] = -__builtin_inff();
  F32 best = splat(state.maximum);
  for (uint32_t j = 0; j < end; j += kLanes) best = larger(load(scores + j), best);
  const float maximum = largest(best);
  const F32 subtrahend = splat(maximum);
  F32 total = {};
  for (uint32_t j = 0; j < end; j += kLanes) {
    const F32 weight = exponential(load(scores + j) - subtrahend);
    store(scores + j, weight);
    total += weight;
  }
  state.factor = exp(state.maximum - maximum);
  state.sum = state.sum * state.factor + sum(total);
  state.maximum = maximum;
}

/** Calls f<vectors>(first) for runs of registers that cover `count` of them. */
template <typename F>
inline void for_value_vectors(uint32_t count, F&& f) {
  uint32_t v = 0;
  while (v < count) {
    const uint32_t left = count - v;
    // 4 are taken as 2 + 2: a single register of sums would stall on its own latency.
    if (kValueVectors == 3 && left >= 3 && left != 4) {
      f.template operator()<kValueVectors>(v);
      v += kValueVectors;
    } else if (left >= 2) {
      f.template operator()<2>(v);
      v += 2;
    } else {
      f.template operator()<1>(v);
      v += 1;
    }
  }
}

/** Products in float32. */
struct FloatForm {
  static size_t key_block_bytes(uint32_t width) { return size_t{width} * kKeyBlock * sizeof(float); }
  static size_t value_bytes(uint32_t rows, uint32_t padded) { return size_t{rows} * padded * sizeof(float); }
  static size_t query_bytes(uint32_t width) { return size_t{width} * sizeof(float); }
  static F32 exponential(F32 x) { return exp(x); }

  static void pack_key(const float* key, uint32_t width, uint32_t lane, void* block) {
    auto* to = static_cast<float*>(block) + lane;
    for (uint32_t d = 0; d < width; ++d) to[size_t{d} * kKeyBlock] = key[d];
  }

  /** Two adjacent rows of values, the first one at an even row of the step; null: zeros. */
  static void pack_values(const float* first, const float* second, uint32_t width, uint32_t padded, void* values) {
    auto* to = static_cast<float*>(values);
    const float* const rows[] = {first, second};
    for (const float* from : rows) {
      for (uint32_t i = 0; i < padded; i += kLanes, to += kLanes) {
        store(to, from != nullptr && i < width ? load(from + i, width - i) : F32{});
      }
    }
  }

  static void pack_query(const float* query, uint32_t width, void* packed) { __builtin_memcpy(packed, query, width * sizeof(float)); }

  /** scores[r][j] = q_r k_j for all keys j of a block. */
  static void score(const void* queries, const void* block, uint32_t width, float* scores) {
    const auto* q = static_cast<const float*>(queries);
    const auto* k = static_cast<const float*>(block);
    F32 s[kRowGroup][2] = {};
    for (uint32_t d = 0; d < width; ++d, k += kKeyBlock) {
      const F32 k0 = load(k), k1 = load(k + kLanes);
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        const F32 v = splat(q[r * width + d]);
        s[r][0] = fma(v, k0, s[r][0]);
        s[r][1] = fma(v, k1, s[r][1]);
      }
    }
    for (uint32_t r = 0; r < kRowGroup; ++r) {
      store(scores + r * kScoreStride, s[r][0]);
      store(scores + r * kScoreStride + kLanes, s[r][1]);
    }
  }

  /** acc_r = acc_r * factor_r + sum over the keys [begin, begin + count) of weights[r][j] * value_j, ascending. */
  static void accumulate(
      const float* weights, const void* values, uint32_t begin, uint32_t count, uint32_t padded, const RunningSoftmax* states, float* acc) {
    const float* from = static_cast<const float*>(values) + size_t{begin} * padded;
    for_value_vectors(padded / kLanes, [&]<uint32_t vectors>(uint32_t first) {
      F32 a[kRowGroup][vectors];
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        const F32 factor = splat(states[r].factor);
        for (uint32_t v = 0; v < vectors; ++v) a[r][v] = load(acc + r * padded + (first + v) * kLanes) * factor;
      }
      const float* value = from + first * kLanes;
      for (uint32_t j = 0; j < count; ++j, value += padded) {
        F32 x[vectors];
        for (uint32_t v = 0; v < vectors; ++v) x[v] = load(value + v * kLanes);
        for (uint32_t r = 0; r < kRowGroup; ++r) {
          const F32 weight = splat(weights[r * kScoreStride + j]);
          for (uint32_t v = 0; v < vectors; ++v) a[r][v] = fma(weight, x[v], a[r][v]);
        }
      }
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        for (uint32_t v = 0; v < vectors; ++v) store(acc + r * padded + (first + v) * kLanes, a[r][v]);
      }
    });
  }
};

#if defined(__AVX512BF16__)

/** Products of bfloat16 numbers, summed in float32. */
struct BfloatForm {
  static size_t key_block_bytes(uint32_t width) { return size_t{width / 2} * kKeyBlock * sizeof(uint32_t); }
  static size_t value_bytes(uint32_t rows, uint32_t padded) { return size_t{rows / 2} * padded * sizeof(uint32_t); }
  static size_t query_bytes(uint32_t width) { return size_t{width} * sizeof(uint16_t); }

  /** 2^(x log2 e) by a polynomial of degree 4 on [-1/2, 1/2]: relative error 4e-6, far below that of a bfloat16. */
  static F32 exponential(F32 x) {
    const __m512 scaled = _mm512_mul_ps((__m512)x, _mm512_set1_ps(0x1.715476p0f));
    const __m512 whole = _mm512_roundscale_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 rest = _mm512_sub_ps(scaled, whole);
    __m512 p = _mm512_set1_ps(0.00961812910762848f);
    p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.0555041086648216f));
    p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.240226506959101f));
    p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.693147180559945f));
    p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(1.0f));
    // A score of minus infinity has no remainder: its weight is 0 whatever the polynomial gives.
    const __mmask16 is_finite = _mm512_cmp_ps_mask(scaled, _mm512_set1_ps(-150.0f), _CMP_NLT_UQ);
    return (F32)_mm512_maskz_scalef_ps(is_finite, p, whole);
  }

  static uint32_t pair(float low, float high) {
    const auto bits = [](float value) { return static_cast<uint32_t>(_mm_extract_epi16((__m128i)_mm_cvtneps_pbh(_mm_set_ss(value)), 0)); };
    return bits(low) | bits(high) << 16;
  }

  static void pack_key(const float* key, uint32_t width, uint32_t lane, void* block) {
    auto* to = static_cast<uint32_t*>(block) + lane;
    for (uint32_t d = 0; d < width; d += 2) to[size_t{d / 2} * kKeyBlock] = pair(key[d], key[d + 1]);
  }

  static void pack_values(const float* first, const float* second, uint32_t width, uint32_t padded, void* values) {
    auto* to = static_cast<uint32_t*>(values);
    const auto rounded = [&](const float* from, uint32_t i) {
      const F32 v = from != nullptr && i < width ? load(from + i, width - i) : F32{};
      return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)v));
    };
    for (uint32_t i = 0; i < padded; i += kLanes, to += kLanes) {
      const __m512i high = _mm512_slli_epi32(rounded(second, i), 16);
      _mm512_storeu_si512(to, _mm512_or_si512(rounded(first, i), high));
    }
  }

  static void pack_query(const float* query, uint32_t width, void* packed) { to_bfloat(query, width, packed); }

  static void score(const void* queries, const void* block, uint32_t width, float* scores) {
    const auto* q = static_cast<const uint8_t*>(queries);
    const auto* k = static_cast<const uint32_t*>(block);
    const size_t stride = query_bytes(width);
    __m512 s[kRowGroup][2];
    for (uint32_t r = 0; r < kRowGroup; ++r) s[r][0] = s[r][1] = _mm512_setzero_ps();
    for (uint32_t d = 0; d < width; d += 2, k += kKeyBlock) {
      const __m512bh k0 = (__m512bh)_mm512_loadu_si512(k), k1 = (__m512bh)_mm512_loadu_si512(k + kLanes);
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        const __m512bh two = broadcast(q + r * stride + d * sizeof(uint16_t));
        s[r][0] = _mm512_dpbf16_ps(s[r][0], k0, two);
        s[r][1] = _mm512_dpbf16_ps(s[r][1], k1, two);
      }
    }
    for (uint32_t r = 0; r < kRowGroup; ++r) {
      _mm512_storeu_ps(scores + r * kScoreStride, s[r][0]);
      _mm512_storeu_ps(scores + r * kScoreStride + kLanes, s[r][1]);
    }
  }

  static void accumulate(
      const float* weights, const void* values, uint32_t begin, uint32_t count, uint32_t padded, const RunningSoftmax* states, float* acc) {
    // Pairs start at even rows of the step: the neighbour's half of a pair at either end gets the weight 0.
    const uint32_t skew = begin % 2;
    const uint32_t pairs = (skew + count + 1) / 2;
    alignas(64) uint16_t rounded[kRowGroup][kTileKeys + 2 * kLanes];
    for (uint32_t r = 0; r < kRowGroup; ++r) {
      rounded[r][0] = 0;
      to_bfloat(weights + r * kScoreStride, count, &rounded[r][skew]);
      rounded[r][skew + count] = 0;
    }
    const uint32_t* from = static_cast<const uint32_t*>(values) + size_t{begin / 2} * padded;
    for_value_vectors(padded / kLanes, [&]<uint32_t vectors>(uint32_t first) {
      __m512 a[kRowGroup][vectors];
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        const __m512 factor = _mm512_set1_ps(states[r].factor);
        for (uint32_t v = 0; v < vectors; ++v) {
          a[r][v] = _mm512_mul_ps(_mm512_loadu_ps(acc + r * padded + (first + v) * kLanes), factor);
        }
      }
      const uint32_t* value = from + first * kLanes;
      for (uint32_t j = 0; j < pairs; ++j, value += padded) {
        __m512bh x[vectors];
        for (uint32_t v = 0; v < vectors; ++v) x[v] = (__m512bh)_mm512_loadu_si512(value + v * kLanes);
        for (uint32_t r = 0; r < kRowGroup; ++r) {
          const __m512bh two = broadcast(&rounded[r][2 * j]);
          for (uint32_t v = 0; v < vectors; ++v) a[r][v] = _mm512_dpbf16_ps(a[r][v], x[v], two);
        }
      }
      for (uint32_t r = 0; r < kRowGroup; ++r) {
        for (uint32_t v = 0; v < vectors; ++v) {
          _mm512_storeu_ps(acc + r * padded + (first + v) * kLanes, a[r][v]);
        }
      }
    });
  }

 private:
  static __m512bh broadcast(const void* two) {
    int32_t bits;
    __builtin_memcpy(&bits, two, sizeof bits);
    return (__m512bh)_mm512_set1_epi32(bits);
  }

  static void to_bfloat(const float* from, uint32_t count, void* to) {
    auto* target = static_cast<uint16_t*>(to);
    for_each_vector(count, [&](uint32_t i, uint32_t n) {
      const __m256i v = (__m256i)_mm512_cvtneps_pbh((__m512)load(from + i, n));
      _mm256_mask_storeu_epi16(target + i, static_cast<__mmask16>((1u << n) - 1), v);
    });
  }
};

#else

using BfloatForm = FloatForm;

#endif

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
