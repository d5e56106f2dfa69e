#pragma once

#include "cache_table.h"
#include "rows.h"

/**
 * Attention of a few queries that read the same kv head, over one partition of positions.
 *
 * Positions are cut into partitions at absolute multiples of kPartition. Within one, a query's scores q k^T are sums over
 * the head width in a fixed order, their maximum is exact, and the weighted sum of values runs over the positions one by
 * one, ascending. Partitions are folded ascending. None of this depends on which queries share a tile, on where a position is in the
 * cache, or on the positions that other queries see: any split of the work gives the same bits.
 */
namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** Positions that are weighted with one maximum. 256 scores fill few cache lines and make a work item of some 10 us. */
inline constexpr uint32_t kPartition = 256;

/** Queries per tile: enough that converting keys and values to float32 costs little. */
inline constexpr uint32_t kTileQueries = 32;

/** Queries whose sums are in registers together; with four keys or four vectors of values they fill the register file. */
#if defined(__AVX512F__) || defined(__ARM_NEON)
inline constexpr uint32_t kQueryGroup = 4;
#else
inline constexpr uint32_t kQueryGroup = 2;
#endif

/** Positions whose values are converted at once; they stay in the first cache. */
inline constexpr uint32_t kValueBlock = 16;

/** Keys and values of one kv head of a sequence: element k of position p is at begin + place(p) * stride + k. */
struct KvHead {
  const void* keys;
  const void* values;
  CacheTable table;
  size_t begin;
  size_t stride;
  uint32_t width;         ///< K
  uint32_t padded_width;  ///< K rounded up to whole vectors

  size_t index(uint32_t position) const { return begin + table.place(position) * stride; }
};

/** State of a query after some partitions; `acc` [padded width] is not normalised. */
struct Softmax {
  float maximum;
  float sum;
};

/** Queries of one sequence and kv head, and their working memory. */
struct Tile {
  uint32_t queries;
  const float* q[kTileQueries];  ///< padded with zeros to the padded width
  uint32_t low[kTileQueries];    ///< first visible position
  uint32_t high[kTileQueries];   ///< last visible position + 1
  Softmax part[kTileQueries];    ///< of the last partition processed; sum 0: the query sees nothing of it
  float* part_acc;               ///< [queries][padded width]
  float* weights;                ///< [queries][kPartition] scores, then softmax weights
  float* converted;              ///< [kValueBlock][padded width] keys or values as float32
};

inline uint32_t padded_width(uint32_t width) { return (width + kLanes - 1) / kLanes * kLanes; }

/** Size of the three buffers of a tile in floats. */
inline size_t tile_floats(uint32_t width) {
  return (size_t{kTileQueries} + kValueBlock) * padded_width(width) + size_t{kTileQueries} * kPartition;
}

inline void give_buffers(Tile& tile, uint32_t width, float* memory) {
  tile.part_acc = memory;
  tile.converted = memory + size_t{kTileQueries} * padded_width(width);
  tile.weights = tile.converted + size_t{kValueBlock} * padded_width(width);
}

/** Number of rows to prefetch: the other heads of a position lie between two rows, so the hardware prefetcher misses them. */
inline constexpr uint32_t kPrefetch = 8;

template <ScalarType type>
inline void prefetch(const KvHead& head, const void* cache, uint32_t position) {
  const size_t element = type == kScalarF32 ? 4 : 2;
  const char* at = static_cast<const char*>(cache) + head.index(position) * element;
  for (size_t i = 0; i < head.width * element; i += 64) __builtin_prefetch(at + i);
}

/** The row of a position as padded float32: in place if it is stored that way, else converted into `to`. `last`: to be read. */
template <ScalarType type>
inline const float* cached_row(const KvHead& head, const void* cache, uint32_t position, uint32_t last, float* to) {
  const size_t index = head.index(position);
  prefetch<type>(head, cache, smaller(position + kPrefetch, last));
  if (type == kScalarF32 && head.width == head.padded_width) return static_cast<const float*>(cache) + index;
  for_each_vector(head.width, [&](uint32_t i, uint32_t n) { store(to + i, load_as<type>(cache, index + i, n)); });
  return to;
}

/** scores[i * kPartition + j] = q_i k_j for `count` queries and four keys. */
template <uint32_t count>
inline void score(const float* const* q, const float* const* keys, uint32_t width, float* scores) {
  F32 s[count][4] = {};
  for (uint32_t k = 0; k < width; k += kLanes) {
    const F32 k0 = load(keys[0] + k), k1 = load(keys[1] + k), k2 = load(keys[2] + k), k3 = load(keys[3] + k);
    for (uint32_t i = 0; i < count; ++i) {
      const F32 v = load(q[i] + k);
      s[i][0] = fma(v, k0, s[i][0]);
      s[i][1] = fma(v, k1, s[i][1]);
      s[i][2] = fma(v, k2, s[i][2]);
      s[i][3] = fma(v, k3, s[i][3]);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const F32x4 sums = sum4(s[i][0], s[i][1], s[i][2], s[i][3]);
    __builtin_memcpy(scores + i * kPartition, &sums, sizeof sums);
  }
}

/** acc_i += sum_j weights[i * kPartition + j] * values_j for `count` queries, j ascending over `positions`. */
template <uint32_t count>
inline void accumulate(const float* weights, const float* const* values, uint32_t positions, uint32_t width, float* acc) {
  const auto columns = [&]<uint32_t vectors>(uint32_t k) {
    F32 a[count][vectors];
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t v = 0; v < vectors; ++v) a[i][v] = load(acc + i * width + k + v * kLanes);
    }
    for (uint32_t j = 0; j < positions; ++j) {
      F32 value[vectors];
      for (uint32_t v = 0; v < vectors; ++v) value[v] = load(values[j] + k + v * kLanes);
      for (uint32_t i = 0; i < count; ++i) {
        const F32 weight = splat(weights[i * kPartition + j]);
        for (uint32_t v = 0; v < vectors; ++v) a[i][v] = fma(weight, value[v], a[i][v]);
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t v = 0; v < vectors; ++v) store(acc + i * width + k + v * kLanes, a[i][v]);
    }
  };
  uint32_t k = 0;
  for (; k + 4 * kLanes <= width; k += 4 * kLanes) columns.template operator()<4>(k);
  for (; k < width; k += kLanes) columns.template operator()<1>(k);
}

/** Replaces the scores of positions [low, high) of a partition by weights e^(s - maximum), and all others by 0. */
inline Softmax weigh(float* scores, uint32_t low, uint32_t high) {
  const uint32_t begin = low / kLanes * kLanes;
  const uint32_t end = (high + kLanes - 1) / kLanes * kLanes;
  // Minus infinity outside the range: e^-infinity adds an exact 0 to the sum.
  for (uint32_t j = begin; j < low; ++j) scores[j] = -__builtin_inff();
  for (uint32_t j = high; j < end; ++j) scores[j] = -__builtin_inff();
  F32 best = splat(-__builtin_inff());
  for (uint32_t j = begin; j < end; j += kLanes) best = larger(load(scores + j), best);
  const float maximum = largest(best);
  F32 total = {};
  for (uint32_t j = begin; j < end; j += kLanes) {
    const F32 weight = exp(load(scores + j) - maximum);
    store(scores + j, weight);
    total += weight;
  }
  return {maximum, sum(total)};
}

/** Attends the queries of a tile to the positions of one partition; results in part and part_acc. */
template <ScalarType type>
inline void attend_partition(Tile& tile, const KvHead& head, uint32_t partition) {
  const uint32_t width = head.padded_width;
  const uint32_t first = partition * kPartition;
  uint32_t low[kTileQueries], high[kTileQueries];
  uint32_t lowest = kPartition, highest = 0;
  for (uint32_t i = 0; i < tile.queries; ++i) {
    low[i] = tile.low[i] > first ? tile.low[i] - first : 0;
    high[i] = tile.high[i] > first ? tile.high[i] - first : 0;
    if (high[i] > kPartition) high[i] = kPartition;
    if (low[i] >= high[i]) continue;
    if (low[i] < lowest) lowest = low[i];
    if (high[i] > highest) highest = high[i];
  }

  const uint32_t last = first + highest - 1;
  for (uint32_t j = lowest / 4 * 4; j < highest; j += 4) {
    const float* keys[4];
    for (uint32_t n = 0; n < 4; ++n) {
      // Scores outside every query's range are never used; a position inside is read instead.
      const uint32_t at = j + n < lowest ? lowest : j + n < highest ? j + n : highest - 1;
      keys[n] = cached_row<type>(head, head.keys, first + at, last, tile.converted + n * width);
    }
    uint32_t i = 0;
    for (; i + kQueryGroup <= tile.queries; i += kQueryGroup) {
      score<kQueryGroup>(tile.q + i, keys, width, tile.weights + i * kPartition + j);
    }
    for (; i + 2 <= tile.queries; i += 2) score<2>(tile.q + i, keys, width, tile.weights + i * kPartition + j);
    if (i < tile.queries) score<1>(tile.q + i, keys, width, tile.weights + i * kPartition + j);
  }

  for (uint32_t i = 0; i < tile.queries; ++i) {
    tile.part[i] = low[i] < high[i] ? weigh(tile.weights + i * kPartition, low[i], high[i]) : Softmax{-__builtin_inff(), 0.0f};
  }

  __builtin_memset(tile.part_acc, 0, size_t{tile.queries} * width * sizeof(float));
  for (uint32_t j = lowest; j < highest; j += kValueBlock) {
    const uint32_t end = j + kValueBlock < highest ? j + kValueBlock : highest;
    const float* values[kValueBlock];
    for (uint32_t n = 0; n < end - j; ++n) {
      values[n] = cached_row<type>(head, head.values, first + j + n, last, tile.converted + n * width);
    }
    const auto sees_all = [&](uint32_t i) { return low[i] <= j && high[i] >= end; };
    for (uint32_t i = 0; i < tile.queries;) {
      float* acc = tile.part_acc + size_t{i} * width;
      const float* weights = tile.weights + i * kPartition;
      uint32_t alike = 0;
      while (alike < kQueryGroup && i + alike < tile.queries && sees_all(i + alike)) ++alike;
      if (alike == kQueryGroup) {
        accumulate<kQueryGroup>(weights + j, values, end - j, width, acc);
        i += kQueryGroup;
        continue;
      }
      if (alike >= 2) {
        accumulate<2>(weights + j, values, end - j, width, acc);
        i += 2;
        continue;
      }
      // Positions that a query does not see are skipped, not weighted with 0: they may contain anything.
      const uint32_t from = low[i] > j ? low[i] : j, to = high[i] < end ? high[i] : end;
      if (from < to) accumulate<1>(weights + from, values + (from - j), to - from, width, acc);
      ++i;
    }
  }
}

/** Folds the result of the next partition into that of all earlier ones. */
inline void fold_partition(Softmax& total, float* total_acc, const Softmax& part, const float* part_acc, uint32_t width, bool is_first) {
  if (is_first) {
    total = part;
    __builtin_memcpy(total_acc, part_acc, width * sizeof(float));
    return;
  }
  const float maximum = part.maximum > total.maximum ? part.maximum : total.maximum;
  const float old_scale = exp(total.maximum - maximum), new_scale = exp(part.maximum - maximum);
  total = {maximum, total.sum * old_scale + part.sum * new_scale};
  for (uint32_t k = 0; k < width; k += kLanes) {
    store(total_acc + k, fma(load(part_acc + k), splat(new_scale), load(total_acc + k) * splat(old_scale)));
  }
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
