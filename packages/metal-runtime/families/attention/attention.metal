/**
 * attention: out = softmax(q k^T) v per query head, float32, scale 1.
 *
 * A threadgroup of eight simdgroups takes one row and up to `heads` query heads of one kv head, over all partitions of 256 positions or
 * over one span of partitions. A simdgroup owns 32 positions of a partition: its lanes share the elements of a key or value. With
 * has_prologue (one row), raw q, k and v are normalised and rotated here, and the row's own key and value are appended to the cache; with
 * more rows, attention_prepare has done this. With is_split, the results of spans go to `spans`, where attention_combine folds them, or
 * attention_linear if a linear reads the row.
 */
#include <metal_stdlib>
using namespace metal;

#include "attention_params.h"
#include "launch.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_norm.h"
#include "cache_block.h"
#include "metal_cache.h"
#include "metal_attention.h"

/** Widest head of the kernels with `quads` quads per lane. */
template <int quads>
constexpr uint widest_head() {
  return quads * 4 * 32;
}

template <typename Cache, int quads, int heads>
kernel void attention(constant AttentionParams& p [[buffer(0)]],
                      constant Launch& launch [[buffer(1)]],
                      device const float* q [[buffer(2)]],
                      device uchar* keys [[buffer(3)]],
                      device uchar* values [[buffer(4)]],
                      device float* out [[buffer(5)]],
                      device const uchar* q_gain [[buffer(6)]],
                      device const float* table [[buffer(7)]],
                      device const float* k [[buffer(8)]],
                      device const float* v [[buffer(9)]],
                      device const uchar* k_gain [[buffer(10)]],
                      device float* spans [[buffer(22)]],
                      device const int* positions [[buffer(24)]],
                      device const int* slots [[buffer(25)]],
                      device const int* visible_ends [[buffer(26)]],
                      device const int* tables [[buffer(27)]],
                      uint3 at [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint widest = widest_head<quads>();
  threadgroup float shared_q[heads * widest];
  threadgroup float own_key[widest], own_value[widest];
  threadgroup float weights[heads * kPartition];
  threadgroup float sums[kRowSimdgroups * widest];
  threadgroup float maxima[heads * kRowSimdgroups], totals[heads * kRowSimdgroups];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint row = at.z;
  const uint group_heads = p.heads / p.kv_heads;
  const uint tiles = (group_heads + heads - 1) / heads;
  const uint g = at.y / tiles, first_head = g * group_heads + at.y % tiles * heads;
  const uint end_head = (g + 1) * group_heads;
  const int position = positions[row];
  // A segment is read like a sequence, with its rows as positions.
  const bool has_segments = launch.has_segments != 0;
  Visible seen = visible_positions(p.window, position, visible_ends[row]);
  if (has_segments) {
    seen.low = 0;
    seen.high = uint(visible_ends[row]) + 1;
  }
  const Partitions partitions = partitions_of(seen);
  const bool is_split = launch.is_split != 0;
  const uint begin_part = is_split ? at.x * partitions.span : 0;
  const uint end_part = is_split ? min(begin_part + partitions.span, partitions.count) : partitions.count;
  const ulong kv_width = ulong(p.kv_heads) * p.width;
  const CacheTable cache = cache_table(tables, slots[row], p.cache_kind);
  const bool has_own = launch.has_prologue != 0 && p.has_kv != 0;

  // 1. The queries of the tile; the last head is repeated beyond the end. With a prologue, also the row's own key and value.
  for (uint h = simdgroup; h < uint(heads); h += kRowSimdgroups) {
    const uint head = min(first_head + h, end_head - 1);
    if (launch.has_prologue != 0) {
      prepare_head(q + ulong(row) * p.q_stride + head * p.width, p.width, p.eps, q_gain + launch.shift[4], true, p.gain_type,
                   table + ulong(row) * p.width, true, shared_q + h * widest, lane);
    } else {
      device const float* from = q + ulong(row) * launch.x_stride + head * p.width;
      for (uint i = lane; i < p.width; i += kLanes) shared_q[h * widest + i] = from[i];
    }
  }
  if (has_own && simdgroup >= kRowSimdgroups - 2) {
    const bool is_key = simdgroup == kRowSimdgroups - 2;
    threadgroup float* own = is_key ? own_key : own_value;
    device const float* raw = is_key ? k + ulong(row) * p.k_stride : v + ulong(row) * p.v_stride;
    prepare_head(raw + g * p.width, p.width, p.eps, k_gain + launch.shift[8], is_key, p.gain_type, table + ulong(row) * p.width, is_key,
                 own, lane);
    // The first threadgroup of a kv head stores them for later steps; all threadgroups use the values as the cache will hold them.
    const bool stores = at.x == 0 && at.y % tiles == 0;
    const ulong place = cache.place(uint(position)) * kv_width + g * p.width;
    for (uint i = lane; i < p.width; i += kLanes) {
      if (stores) Cache::store(is_key ? keys : values, place + i, own[i]);
      own[i] = Cache::round(own[i]);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 query[heads * quads];
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < quads; ++i) {
      query[h * quads + i] = shared_quad(shared_q + h * widest, (lane + i * kLanes) * 4, p.width);
    }
  }

  // Totals of the span so far, and of the spans before it. A thread keeps the sums of columns thread_index, thread_index + 256.
  constexpr int kColumns = (widest + kRowThreads - 1) / kRowThreads;
  Softmax span_total[heads], total[heads];
  float span_result[heads * kColumns], result[heads * kColumns];
  for (int h = 0; h < heads; ++h) span_total[h] = total[h] = {kLowest, 0.0f};
  for (int i = 0; i < heads * kColumns; ++i) span_result[i] = result[i] = 0.0f;
  for (uint part = begin_part; part < end_part; ++part) {
    const uint begin = (partitions.first + part) * kPartition + simdgroup * kLanes;
    const uint low = max(seen.low, begin), high = min(seen.high, begin + kLanes);
    // The 32 positions are one block of the cache.
    ulong begin_place = 0;
    if (low < high) begin_place = has_segments ? ulong(row) - uint(position) + begin : cache.block(begin);

    // 2. Scores: lane i keeps the score of position begin + i.
    float score[heads];
    for (int h = 0; h < heads; ++h) score[h] = kLowest;
    for (uint at_position = low; at_position < high; ++at_position) {
      const bool is_own = has_own && at_position == uint(position);
      const ulong head = (begin_place + (at_position - begin)) * kv_width + g * p.width;
      float partial[heads];
      for (int h = 0; h < heads; ++h) partial[h] = 0.0f;
      for (int i = 0; i < quads; ++i) {
        const uint column = (lane + i * kLanes) * 4;
        const float4 key = is_own ? shared_quad(own_key, column, p.width) : cached_quad<Cache>(keys, head, column, p.width);
        for (int h = 0; h < heads; ++h) {
          const float4 product = query[h * quads + i] * key;
          partial[h] += (product.x + product.y) + (product.z + product.w);
        }
      }
      for (int h = 0; h < heads; ++h) {
        const float sum = simd_sum(partial[h]);
        if (at_position - begin == lane) score[h] = sum;
      }
    }

    // 3. Weights e^(score - maximum of the partition).
    for (int h = 0; h < heads; ++h) {
      const float most = simd_max(score[h]);
      if (lane == 0) maxima[h * kRowSimdgroups + simdgroup] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    Softmax own_part[heads];
    const bool is_seen = begin + lane >= low && begin + lane < high;
    for (int h = 0; h < heads; ++h) {
      float most = maxima[h * kRowSimdgroups];
      for (uint i = 1; i < kRowSimdgroups; ++i) most = max(most, maxima[h * kRowSimdgroups + i]);
      own_part[h].maximum = most;
      const float weight = is_seen ? exponential(score[h] - most) : 0.0f;
      weights[h * kPartition + simdgroup * kLanes + lane] = weight;
      const float sum = simd_sum(weight);
      if (lane == 0) totals[h * kRowSimdgroups + simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int h = 0; h < heads; ++h) {
      own_part[h].sum = totals[h * kRowSimdgroups];
      for (uint i = 1; i < kRowSimdgroups; ++i) own_part[h].sum += totals[h * kRowSimdgroups + i];
    }

    // 4. Weighted values of the simdgroup's 32 positions, then sums over the simdgroups, head by head.
    float4 sum[heads * quads];
    for (int i = 0; i < heads * quads; ++i) sum[i] = float4(0.0f);
    for (uint at_position = low; at_position < high; ++at_position) {
      const bool is_own = has_own && at_position == uint(position);
      const ulong head = (begin_place + (at_position - begin)) * kv_width + g * p.width;
      for (int i = 0; i < quads; ++i) {
        const uint column = (lane + i * kLanes) * 4;
        const float4 value = is_own ? shared_quad(own_value, column, p.width) : cached_quad<Cache>(values, head, column, p.width);
        for (int h = 0; h < heads; ++h) {
          const float weight = weights[h * kPartition + simdgroup * kLanes + (at_position - begin)];
          sum[h * quads + i] = fma(float4(weight), value, sum[h * quads + i]);
        }
      }
    }
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < quads; ++i) {
        const uint column = (lane + i * kLanes) * 4;
        threadgroup float* to = sums + simdgroup * widest + column;
        to[0] = sum[h * quads + i].x;
        to[1] = sum[h * quads + i].y;
        to[2] = sum[h * quads + i].z;
        to[3] = sum[h * quads + i].w;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      const bool is_first = part % partitions.span == 0;
      const Fold fold = fold_partition(span_total[h], own_part[h], is_first);
      span_total[h] = fold.total;
      for (int c = 0; c < kColumns; ++c) {
        const uint column = thread_index + c * kRowThreads;
        if (column >= p.width) continue;
        float value = sums[column];
        for (uint i = 1; i < kRowSimdgroups; ++i) value += sums[i * widest + column];
        span_result[h * kColumns + c] = folded(span_result[h * kColumns + c], value, fold, is_first);
      }
      // The next head, or the next partition, overwrites the sums.
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // 5. Fold the finished span.
    const bool is_span_end = part + 1 == end_part || (part + 1) % partitions.span == 0;
    if (is_split || !is_span_end) continue;
    for (int h = 0; h < heads; ++h) {
      const bool is_first = part < partitions.span;
      const Fold fold = fold_partition(total[h], span_total[h], is_first);
      total[h] = fold.total;
      for (int c = 0; c < kColumns; ++c) {
        result[h * kColumns + c] = folded(result[h * kColumns + c], span_result[h * kColumns + c], fold, is_first);
      }
    }
  }
  for (int h = 0; h < heads; ++h) {
    const uint head = first_head + h;
    // Spans of a row and head are contiguous, each with maximum and sum before its values.
    device float* span = spans + ((ulong(row) * p.heads + head) * launch.is_split + at.x) * (p.width + kSpanHeader);
    for (int c = 0; c < kColumns; ++c) {
      const uint column = thread_index + c * kRowThreads;
      if (column >= p.width || head >= end_head || begin_part >= end_part) continue;
      if (is_split) {
        span[kSpanHeader + column] = span_result[h * kColumns + c];
        if (column == 0) {
          span[0] = span_total[h].maximum;
          span[1] = span_total[h].sum;
        }
      } else {
        out[ulong(row) * p.out_stride + head * p.width + column] = result[h * kColumns + c] * (1.0f / total[h].sum);
      }
    }
  }
}

/** Folds the results of the spans of every row and head, one threadgroup per row and head. */
kernel void attention_combine(constant AttentionParams& p [[buffer(0)]],
                              constant Launch& launch [[buffer(1)]],
                              device float* out [[buffer(5)]],
                              device const float* spans [[buffer(22)]],
                              device const int* positions [[buffer(24)]],
                              device const int* visible_ends [[buffer(26)]],
                              uint2 at [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float2 factors[kMostSpans];
  threadgroup float sum;
  const uint head = at.x, row = at.y;
  const uint count = partitions_of(visible_positions(p.window, positions[row], visible_ends[row])).spans();
  const ulong stride = p.width + kSpanHeader;
  device const float* own = spans + (ulong(row) * p.heads + head) * launch.is_split * stride;
  if (thread_index == 0) sum = find_span_factors(own, count, stride, factors);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint column = thread_index; column < p.width; column += kRowThreads) {
    out[ulong(row) * p.out_stride + head * p.width + column] = fold_spans(own + kSpanHeader + column, count, stride, factors, sum);
  }
}

/** Prepares the heads of several rows for attention: q to `prepared` [rows, H, K], k and v to the cache. One simdgroup per head. */
template <typename Cache>
kernel void attention_prepare(constant AttentionParams& p [[buffer(0)]],
                              constant Launch& launch [[buffer(1)]],
                              device const float* q [[buffer(2)]],
                              device uchar* keys [[buffer(3)]],
                              device uchar* values [[buffer(4)]],
                              device const uchar* q_gain [[buffer(6)]],
                              device const float* table [[buffer(7)]],
                              device const float* k [[buffer(8)]],
                              device const float* v [[buffer(9)]],
                              device const uchar* k_gain [[buffer(10)]],
                              device float* prepared [[buffer(23)]],
                              device const int* positions [[buffer(24)]],
                              device const int* slots [[buffer(25)]],
                              device const int* tables [[buffer(27)]],
                              uint2 at [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float head[kSimdgroupWidth];
  const ulong row = at.y;
  const bool is_query = at.x < p.heads;
  const bool is_value = at.x >= p.heads + p.kv_heads;
  const uint g = is_query ? at.x : (at.x - p.heads) % p.kv_heads;
  device const float* raw = is_query ? q + row * p.q_stride : is_value ? v + row * p.v_stride : k + row * p.k_stride;
  device const uchar* gain = is_query ? q_gain + launch.shift[4] : k_gain + launch.shift[8];
  prepare_head(raw + g * p.width, p.width, p.eps, gain, !is_value, p.gain_type, table + row * p.width, !is_value, head, lane);
  if (is_query) {
    for (uint i = lane; i < p.width; i += kLanes) prepared[(row * p.heads + g) * p.width + i] = head[i];
    return;
  }
  const ulong place = cache_table(tables, slots[row], p.cache_kind).place(uint(positions[row]));
  const ulong index = (place * p.kv_heads + g) * p.width;
  for (uint i = lane; i < p.width; i += kLanes) Cache::store(is_value ? values : keys, index + i, head[i]);
}

#define MARKBASE_ATTENTION(name, Cache)                                                                             \
  template [[host_name("attention_k256h1_" #name)]] kernel decltype(attention<Cache, 2, 1>) attention<Cache, 2, 1>; \
  template [[host_name("attention_k256h2_" #name)]] kernel decltype(attention<Cache, 2, 2>) attention<Cache, 2, 2>; \
  template [[host_name("attention_k256h4_" #name)]] kernel decltype(attention<Cache, 2, 4>) attention<Cache, 2, 4>; \
  template [[host_name("attention_k512h1_" #name)]] kernel decltype(attention<Cache, 4, 1>) attention<Cache, 4, 1>; \
  template [[host_name("attention_k512h2_" #name)]] kernel decltype(attention<Cache, 4, 2>) attention<Cache, 4, 2>; \
  template [[host_name("attention_prepare_" #name)]] kernel decltype(attention_prepare<Cache>) attention_prepare<Cache>;

MARKBASE_ATTENTION(f32, FloatCache)
MARKBASE_ATTENTION(bf16, Bf16Cache)
