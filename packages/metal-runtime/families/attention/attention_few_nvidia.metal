/**
 * attention_few: attention of a few rows on the tensor cores, in `fast`, for heads of 256 or 512 columns and bf16 caches.
 *
 * A threadgroup takes one row, up to eight query heads of one kv head and one span of the positions. It goes through chunks of 32 positions
 * with a running maximum. Keys and values are loaded from device memory straight into registers, and those of the next chunk are in flight
 * while the current one is multiplied. The upper eight rows of a product hold the queries, the lower eight what rounding to bf16 left over,
 * so that queries and weights have 16 bits of precision.
 *
 * If there are few spans, the last threadgroup to finish folds those of its heads; otherwise attention_few_fold does.
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
#include "attention_few_nvidia.h"

/** Elements between the scores of two heads. */
constant constexpr uint kScoreStride = kChunk + 8;

/** Columns of values that a simdgroup sums, and keys whose scores it computes. */
constant constexpr uint kValueColumns = 64;
constant constexpr uint kTileKeys = 8;
constant constexpr uint kKeyTiles = kChunk / kTileKeys;

/** Columns of a key that a simdgroup multiplies, and columns that four lanes load together. */
constant constexpr uint kKeyColumns = 256;
constant constexpr uint kBlockColumns = 32;
constant constexpr uint kKeyBlocks = kKeyColumns / kBlockColumns;

/** As to_bf16, without the branch for NaN. */
inline ushort round_bf16(float value) { return ushort(nvidia::bf16_pair(value, 0.0f)); }

/** A head distributed over the lanes of a simdgroup, element i in lane i % 32: raw and prepared. */
template <uint turns>
struct LaneHead {
  float raw[turns];
  float gain[turns];
};

/** Normalises and rotates a head; same bits as prepare_head. */
template <uint turns>
inline void prepare_lanes(thread LaneHead<turns>& head, float eps, bool is_value, thread const float* cosine, thread const float* sine) {
  float squares = 0.0f;
#pragma unroll
  for (uint i = 0; i < turns; ++i) squares = fma(head.raw[i], head.raw[i], squares);
  const float factor = norm_factor(simd_sum(squares), turns * kLanes, eps);
#pragma unroll
  for (uint i = 0; i < turns; ++i) {
    const float value = head.raw[i] * factor;
    head.raw[i] = is_value ? value : value * head.gain[i];
  }
#pragma unroll
  for (uint i = 0; i < turns / 2; ++i) {
    const float first = head.raw[i], second = head.raw[turns / 2 + i];
    head.raw[i] = is_value ? first : first * cosine[i] - second * sine[i];
    head.raw[turns / 2 + i] = is_value ? second : second * cosine[i] + first * sine[i];
  }
}

template <uint turns>
inline void load_lanes(device const float* raw, device const uchar* gain, uint lane, thread LaneHead<turns>& head) {
#pragma unroll
  for (uint i = 0; i < turns; ++i) {
    head.raw[i] = raw[lane + i * kLanes];
    head.gain[i] = load_scalar(gain, kScalarBf16, lane + i * kLanes);
  }
}

template <uint turns>
inline void load_angles(device const float* table, uint lane, thread float* cosine, thread float* sine) {
#pragma unroll
  for (uint i = 0; i < turns / 2; ++i) {
    cosine[i] = table[lane + i * kLanes];
    sine[i] = table[turns / 2 * kLanes + lane + i * kLanes];
  }
}

/**
 * Stores element lane + 32 i of a query in the layout of the products: of every 32 columns, a lane has 8 adjacent ones, the upper halves of
 * four of them in one product. Each lane has four words per product: two pairs, each followed by its rounding remainder.
 */
inline void place_query(threadgroup ushort* query, uint head, uint turn, uint lane, float value) {
  const ushort high = round_bf16(value);
  threadgroup ushort* at = query + ((turn * 2 + lane % 8 / 4) * kLanes + head * 4 + lane / 8) * 8 + lane % 4 / 2 * 4 + lane % 2;
  at[0] = high;
  at[2] = round_bf16(value - from_bf16(high));
}

/** Elements `odd` of words a and b as a pair. */
inline uint pair_of(uint a, uint b, bool odd) { return odd ? (a >> 16) | (b & 0xffff0000u) : (a & 0xffffu) | (b << 16); }

/** Where the positions of a chunk are in the cache: in one block. Positions that must not be read are replaced by readable ones. */
struct ChunkPlaces {
  uint begin;     ///< place of the first position
  int low, last;  ///< offsets that may be read

  ulong at(int offset) const { return ulong(begin) + uint(min(max(offset, low), last)); }
};

/** A threadgroup's view of its row. */
struct FewRow {
  Visible seen;
  uint read_end;  ///< end of the positions that are read from the cache
  CacheTable table;

  ChunkPlaces places(uint chunk) const {
    const uint begin = chunk * kChunk;
    const int low = int(max(seen.low, begin)) - int(begin), last = int(read_end) - 1 - int(begin);
    // If the row's own position is the only one, the next one is read, which nothing writes, and replaced.
    if (last < 0) return {table.block(begin), 1, 1};
    return {table.block(begin), low, last};
  }
};

/** 8 keys of a chunk, 256 columns of them: lane i has key i / 4. `keys`: of the first column, in words of 16 bytes. */
inline void load_keys(device const uint4* keys, ulong stride, ChunkPlaces places, uint tile, uint lane, thread uint4* key) {
  device const uint4* at = keys + places.at(int(tile * kTileKeys + lane / 4)) * stride + lane % 4;
#pragma unroll
  for (uint i = 0; i < kKeyBlocks; ++i) key[i] = at[i * kBlockColumns / 8];
}

/** Offset in a chunk of value i of a lane. */
inline uint value_offset(uint i, uint lane) { return i / 2 * 8 + lane % 4 * 2 + i % 2; }

/** 64 columns of the values of a chunk; a lane has 8 columns of 8 positions. */
inline void load_values(device const uint4* values, ulong stride, ChunkPlaces places, uint lane, thread uint4* value) {
#pragma unroll
  for (uint i = 0; i < 8; ++i) value[i] = values[places.at(int(value_offset(i, lane))) * stride + lane / 4];
}

template <uint width, bool has_prologue>
kernel void attention_few(constant AttentionParams& p [[buffer(0)]],
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
                          device atomic_uint* arrived [[buffer(23)]],
                          device const int* positions [[buffer(24)]],
                          device const int* slots [[buffer(25)]],
                          device const int* visible_ends [[buffer(26)]],
                          device const int* tables [[buffer(27)]],
                          uint3 at [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint kSimdgroups = width / kValueColumns, kThreads = kSimdgroups * kLanes;
  constexpr uint kHalves = width / kKeyColumns;
  constexpr uint kTurns = width / kLanes;
  // Heads, and with a prologue the row's own key and value, are distributed round-robin over the simdgroups.
  constexpr uint kTasks = (kFewHeads + (has_prologue ? 2 : 0) + kSimdgroups - 1) / kSimdgroups;
  threadgroup uint4 query[width / 16 * kLanes];
  threadgroup uint4 own[2 * width / 8];
  threadgroup float scores[2 * kHalves * kFewHeads * kScoreStride];
  threadgroup float factors[kFewHeads * kDirectSpans];
  threadgroup uint is_last;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint row = at.z;
  const uint group_heads = p.heads / p.kv_heads;
  const uint tiles = (group_heads + kFewHeads - 1) / kFewHeads;
  const uint g = at.y / tiles, first_head = g * group_heads + at.y % tiles * kFewHeads;
  const uint heads = min(kFewHeads, (g + 1) * group_heads - first_head);
  const bool has_own = has_prologue && p.has_kv != 0;

  // 1. Issue all loads before any computation.
  const uint position = uint(positions[row]);
  const Visible seen = visible_positions(p.window, int(position), visible_ends[row]);
  LaneHead<kTurns> head[kTasks];
  float cosine[kTurns / 2], sine[kTurns / 2];
  device const float* rows_of_q = q + ulong(row) * launch.x_stride;
#pragma unroll
  for (uint t = 0; t < kTasks; ++t) {
    const uint task = simdgroup + t * kSimdgroups;
    device const float* raw = rows_of_q + (first_head + min(task, heads - 1)) * width;
    if (has_prologue) {
      device const uchar* gain = q_gain + launch.shift[4];
      if (has_own && task >= kFewHeads) {
        raw = (task == kFewHeads ? k + ulong(row) * p.k_stride : v + ulong(row) * p.v_stride) + g * width;
        gain = k_gain + launch.shift[8];
      }
      load_lanes<kTurns>(raw, gain, lane, head[t]);
    } else {
#pragma unroll
      for (uint i = 0; i < kTurns; ++i) head[t].raw[i] = raw[lane + i * kLanes];
    }
  }
  if (has_prologue) load_angles<kTurns>(table + ulong(row) * width, lane, cosine, sine);
  const Chunks chunks = chunks_of(seen, launch.parts);
  const uint begin = chunks.first + at.x * chunks.span;
  const uint end = min(begin + chunks.span, chunks.first + chunks.count);
  if (begin >= end) return;
  const FewRow few = {seen, has_own && seen.high == position + 1 ? position : seen.high, cache_table(tables, slots[row], p.cache_kind)};
  const ulong stride = ulong(p.kv_heads) * (width / 8);
  const uint tile = simdgroup % kKeyTiles, half_of_key = simdgroup / kKeyTiles;
  device const uint4* head_keys = (device const uint4*)keys + g * (width / 8) + half_of_key * (kKeyColumns / 8);
  device const uint4* head_values = (device const uint4*)values + g * (width / 8) + simdgroup * (kValueColumns / 8);
  uint4 key[kKeyBlocks], value[8];
  const ChunkPlaces first_places = few.places(begin);
  load_keys(head_keys, stride, first_places, tile, lane, key);
  load_values(head_values, stride, first_places, lane, value);

  // 2. The queries, padded with zeros; in the span that contains the row's own position, also its key and value.
  threadgroup ushort* own_bits = (threadgroup ushort*)own;
  const bool is_own_span = has_own && position / kChunk >= begin && position / kChunk < end;
#pragma unroll
  for (uint t = 0; t < kTasks; ++t) {
    const uint task = simdgroup + t * kSimdgroups;
    if (has_prologue) prepare_lanes<kTurns>(head[t], p.eps, task == kFewHeads + 1, cosine, sine);
    if (task < kFewHeads) {
#pragma unroll
      for (uint i = 0; i < kTurns; ++i) {
        place_query((threadgroup ushort*)query, task, i, lane, task < heads ? head[t].raw[i] : 0.0f);
      }
    } else if (task < kFewHeads + 2 && is_own_span) {
      device ushort* cache = (device ushort*)(task == kFewHeads ? keys : values);
      const ulong place = few.table.place(position) * p.kv_heads + g;
#pragma unroll
      for (uint i = 0; i < kTurns; ++i) {
        const ushort bits = round_bf16(head[t].raw[i]);
        own_bits[(task - kFewHeads) * width + lane + i * kLanes] = bits;
        // The first heads of a kv head store them for later steps.
        if (at.y % tiles == 0) cache[place * width + lane + i * kLanes] = bits;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float sums[8][4];
#pragma unroll
  for (uint i = 0; i < 8; ++i) {
#pragma unroll
    for (uint j = 0; j < 4; ++j) sums[i][j] = 0.0f;
  }
  Softmax total = {kLowest, 0.0f};
  threadgroup const uint4* own_key = own + half_of_key * (kKeyColumns / 8) + lane % 4;
  threadgroup const uint4* own_value = own + width / 8 + simdgroup * (kValueColumns / 8) + lane / 4;
  for (uint chunk = begin; chunk < end; ++chunk) {
    const uint chunk_begin = chunk * kChunk;
    const bool has_next = chunk + 1 < end;
    // Looked up before it is needed.
    const ChunkPlaces next = few.places(min(chunk + 1, end - 1));
    const bool has_own_here = has_own && position / kChunk == chunk;
    const bool is_whole = seen.low <= chunk_begin && seen.high >= chunk_begin + kChunk && !has_own_here;
    threadgroup float* chunk_scores = scores + chunk % 2 * (kHalves * kFewHeads * kScoreStride);

    // 3. Scores of 8 keys over 256 columns; then load the keys of the next chunk.
    if (has_own_here && position - chunk_begin == tile * kTileKeys + lane / 4) {
#pragma unroll
      for (uint i = 0; i < kKeyBlocks; ++i) key[i] = own_key[i * kBlockColumns / 8];
    }
    float products[2][4] = {};
#pragma unroll
    for (uint i = 0; i < kKeyBlocks; ++i) {
#pragma unroll
      for (uint j = 0; j < 2; ++j) {
        const uint4 words = query[(half_of_key * (kKeyColumns / 16) + 2 * i + j) * kLanes + lane];
        const uint rows[4] = {words.x, words.y, words.z, words.w};
        const uint columns[2] = {j == 0 ? key[i].x : key[i].z, j == 0 ? key[i].y : key[i].w};
        nvidia::multiply_accumulate(products[j], rows, columns);
      }
    }
    if (has_next) load_keys(head_keys, stride, next, tile, lane, key);
    {
      const uint offset = tile * kTileKeys + lane % 4 * 2;
      threadgroup float* to = chunk_scores + (half_of_key * kFewHeads + lane / 4) * kScoreStride + offset;
#pragma unroll
      for (uint j = 0; j < 2; ++j) {
        const uint own_position = chunk_begin + offset + j;
        const bool is_seen = own_position >= seen.low && own_position < seen.high;
        const float score = (products[0][j] + products[1][j]) + (products[0][2 + j] + products[1][2 + j]);
        to[j] = is_seen ? score : half_of_key == 0 ? kLowest : 0.0f;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // 4. Weights e^(score - maximum); a lane has those of 8 positions of a head, in the layout of the products.
    float weight[8];
    float most = total.maximum;
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      threadgroup const float* from = chunk_scores + lane / 4 * kScoreStride + value_offset(i, lane);
      weight[i] = from[0];
      if (kHalves == 2) weight[i] += from[(kHalves - 1) * kFewHeads * kScoreStride];
      most = max(most, weight[i]);
    }
    most = max(most, simd_shuffle_xor(most, ushort(1)));
    most = max(most, simd_shuffle_xor(most, ushort(2)));
    float sum = 0.0f;
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      weight[i] = exponential(weight[i] - most);
      sum += weight[i];
    }
    sum += simd_shuffle_xor(sum, ushort(1));
    sum += simd_shuffle_xor(sum, ushort(2));
    const float scale = exponential(total.maximum - most);
    total = {most, fma(total.sum, scale, sum)};

    // 5. Weighted values; then load the values of the next chunk.
    if (!is_whole) {
#pragma unroll
      for (uint i = 0; i < 8; ++i) {
        const uint own_position = chunk_begin + value_offset(i, lane);
        // Memory that was never written may contain NaN.
        if (own_position < seen.low || own_position >= seen.high) value[i] = uint4(0);
        if (has_own && own_position == position) value[i] = own_value[0];
      }
    }
#pragma unroll
    for (uint c = 0; c < 8; ++c) {
#pragma unroll
      for (uint j = 0; j < 4; ++j) sums[c][j] *= scale;
    }
#pragma unroll
    for (uint u = 0; u < 2; ++u) {
      uint rows[4];
#pragma unroll
      for (uint j = 0; j < 2; ++j) {
        const float first = weight[4 * u + 2 * j], second = weight[4 * u + 2 * j + 1];
        const uint high = nvidia::bf16_pair(first, second);
        rows[2 * j] = high;
        rows[2 * j + 1] = nvidia::bf16_pair(first - as_type<float>(high << 16), second - as_type<float>(high & 0xffff0000u));
      }
#pragma unroll
      for (uint c = 0; c < 8; ++c) {
        const uint columns[2] = {pair_of(value[4 * u][c / 2], value[4 * u + 1][c / 2], c % 2 != 0),
                                 pair_of(value[4 * u + 2][c / 2], value[4 * u + 3][c / 2], c % 2 != 0)};
        nvidia::multiply_accumulate(sums[c], rows, columns);
      }
    }
    if (has_next) load_values(head_values, stride, next, lane, value);
  }

  // 6. The result of the span: a lane has 16 adjacent columns of a head.
  const uint places = launch.is_split;
  const SpanPlaces results = span_places(spans, width, ulong(launch.rows) * p.heads * places);
  const ulong first_place = (ulong(row) * p.heads + first_head) * places;
  if (lane / 4 < heads) {
    const ulong place = first_place + lane / 4 * places + at.x;
    device float4* to = (device float4*)results.value(place, simdgroup * kValueColumns + lane % 4 * 16);
#pragma unroll
    for (uint j = 0; j < 2; ++j) {
#pragma unroll
      for (uint c = 0; c < 8; c += 4) {
        to[2 * j + c / 4] = float4(sums[c][j] + sums[c][2 + j], sums[c + 1][j] + sums[c + 1][2 + j], sums[c + 2][j] + sums[c + 2][2 + j],
                                   sums[c + 3][j] + sums[c + 3][2 + j]);
      }
    }
    if (simdgroup == 0 && lane % 4 == 0) results.totals[place] = float2(total.maximum, total.sum);
  }
  if (places > kDirectSpans) return;

  // 7. The last threadgroup sees what the others stored: all threads fence before one of them increments the counter, and that thread
  // fences again after the barrier.
  const uint count = chunks.spans();
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    device atomic_uint* counter = arrived + row * p.kv_heads * tiles + at.y;
    const uint earlier = atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);
    is_last = earlier + 1 == count ? 1 : 0;
    // Reset for the next step.
    if (earlier + 1 == count) atomic_store_explicit(counter, 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (is_last == 0) return;
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  for (uint h = simdgroup; h < heads; h += kSimdgroups) {
    find_factors(results.totals + first_place + h * places, count, factors + h * kDirectSpans, lane);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const FoldedHeads folded = {
      results.value(first_place, 0), factors, out + ulong(row) * p.out_stride + first_head * width, heads, places, count};
  // As many loads in flight as the registers allow.
  if (count <= 4) fold_heads<width, kThreads, 1, 4>(folded, thread_index);
  else if (count <= 8) fold_heads<width, kThreads, 2, 2>(folded, thread_index);
  else fold_heads<width, kThreads, 5, 1>(folded, thread_index);
}

/** Folds many spans: a threadgroup takes 128 columns of a row and head, and each of its four simdgroups a part of the spans. */
kernel void attention_few_fold(constant AttentionParams& p [[buffer(0)]],
                               constant Launch& launch [[buffer(1)]],
                               device float* out [[buffer(5)]],
                               device float* spans [[buffer(22)]],
                               device const int* positions [[buffer(24)]],
                               device const int* visible_ends [[buffer(26)]],
                               uint3 at [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float factors[kMostFewSpans];
  threadgroup float4 parts[kFoldParts * kLanes];
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint head = at.y, row = at.z, column = at.x * 128 + lane * 4;
  const uint count = chunks_of(visible_positions(p.window, positions[row], visible_ends[row]), launch.parts).spans();
  const uint places = launch.is_split;
  const SpanPlaces results = span_places(spans, p.width, ulong(launch.rows) * p.heads * places);
  const ulong place = (ulong(row) * p.heads + head) * places;
  if (simdgroup == 0) find_factors(results.totals + place, count, factors, lane);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device const float4* from = (device const float4*)results.value(place, column);
  parts[simdgroup * kLanes + lane] = fold_part(from, p.width / 4, factors, count, simdgroup);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) return;
  *(device float4*)(out + ulong(row) * p.out_stride + head * p.width + column) = (parts[lane] + parts[kLanes + lane]) +
                                                                                 (parts[2 * kLanes + lane] + parts[3 * kLanes + lane]);
}

/** Prepares the heads of several rows like attention_prepare: q to `prepared`, k and v to the cache. */
template <uint width>
kernel void attention_few_prepare(constant AttentionParams& p [[buffer(0)]],
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
  constexpr uint kTurns = width / kLanes;
  const ulong row = at.y;
  const bool is_query = at.x < p.heads, is_value = at.x >= p.heads + p.kv_heads;
  const uint g = is_query ? at.x : (at.x - p.heads) % p.kv_heads;
  device const float* raw = is_query ? q + row * p.q_stride : is_value ? v + row * p.v_stride : k + row * p.k_stride;
  device const uchar* gain = is_query ? q_gain + launch.shift[4] : k_gain + launch.shift[8];
  const ulong place = cache_table(tables, slots[row], p.cache_kind).place(uint(positions[row]));
  LaneHead<kTurns> head;
  float cosine[kTurns / 2], sine[kTurns / 2];
  load_lanes<kTurns>(raw + g * width, gain, lane, head);
  load_angles<kTurns>(table + row * width, lane, cosine, sine);
  prepare_lanes<kTurns>(head, p.eps, is_value, cosine, sine);
  device ushort* cache = (device ushort*)(is_value ? values : keys) + (place * p.kv_heads + g) * width;
  device float* query = prepared + (row * p.heads + g) * width;
#pragma unroll
  for (uint i = 0; i < kTurns; ++i) {
    if (is_query) query[lane + i * kLanes] = head.raw[i];
    else cache[lane + i * kLanes] = round_bf16(head.raw[i]);
  }
}

#define MARKBASE_ATTENTION_FEW(width)                                                                                          \
  template [[host_name("attention_few_k" #width)]] kernel decltype(attention_few<width, false>) attention_few<width, false>;   \
  template [[host_name("attention_few_own_k" #width)]] kernel decltype(attention_few<width, true>) attention_few<width, true>; \
  template [[host_name("attention_few_prepare_k" #width)]] kernel decltype(attention_few_prepare<width>) attention_few_prepare<width>;

MARKBASE_ATTENTION_FEW(256)
MARKBASE_ATTENTION_FEW(512)
