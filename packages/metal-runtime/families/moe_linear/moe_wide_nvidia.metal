/**
 * moe_wide: products of many rows with the experts that they chose, on the tensor cores, in `fast`, for 4-bit codes in groups of 64. Rows
 * come from moe_cores_prepare.
 *
 * moe_sort sorts the choices by expert and cuts them into tiles, here of 8 or 32. A threadgroup of four simdgroups multiplies a tile with 128
 * weight rows, each simdgroup with 32: codes are loaded straight into registers, rows go through threadgroup memory, and the loads of the
 * next 128 columns, for tiles of 8 of the next 256, are in flight while the previous ones are multiplied. Sums run over the columns in
 * ascending order, so that the tile does not change the bits.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "moe_linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_experts.h"
#include "expert_tiles_nvidia.h"

constant constexpr uint kSortThreads = 512;
constant constexpr uint kWideThreads = 128;
constant constexpr uint kWideSimdgroups = kWideThreads / kLanes;
/** Products per simdgroup, of 16 weight rows and eight choices each. */
constant constexpr uint kTile = 16;
constant constexpr uint kTiles = 2;
/** Words between two choices in threadgroup memory: adjacent choices begin in different banks. */
constant constexpr uint kWordStride = kUnitWords + 1;
/** Choices whose words the threads copy there at a time. */
constant constexpr uint kBroughtChoices = kWideThreads / kUnitWords;

/** groups: most_tiles tiles (expert, first place, choices), unused ones without choices; then choices by place. */
template <uint tile_choices>
kernel void moe_sort(constant MoeLinearParams& p [[buffer(0)]],
                     constant Launch& launch [[buffer(1)]],
                     device const float* experts [[buffer(6)]],
                     device uint4* groups [[buffer(22)]],
                     uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint counts[kRankedExperts], cursors[kRankedExperts];
  threadgroup uint tile_ends[kLanes];
  const uint choices = launch.rows * p.top_k, tiles = most_tiles<tile_choices>(choices, p.experts);
  if (thread_index < kRankedExperts) atomic_store_explicit(counts + thread_index, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll(8)
  for (uint choice = thread_index; choice < choices; choice += kSortThreads) {
    const uint expert = uint(experts[ulong(choice / p.top_k) * p.experts_stride + choice % p.top_k]);
    atomic_fetch_add_explicit(counts + expert, 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // A lane of the first simdgroup has adjacent experts.
  constexpr uint own = kRankedExperts / kLanes;
  if (thread_index < kLanes) {
    uint count[own], place = 0, tile = 0;
    for (uint i = 0; i < own; ++i) {
      count[i] = atomic_load_explicit(counts + thread_index * own + i, memory_order_relaxed);
      place += count[i];
      tile += (count[i] + tile_choices - 1) / tile_choices;
    }
    const uint own_places = place, own_tiles = tile;
    for (uint reach = 1; reach < kLanes; reach *= 2) {
      const uint places_before = simd_shuffle(place, ushort(max(thread_index, reach) - reach));
      const uint tiles_before = simd_shuffle(tile, ushort(max(thread_index, reach) - reach));
      place += thread_index >= reach ? places_before : 0u;
      tile += thread_index >= reach ? tiles_before : 0u;
    }
    tile_ends[thread_index] = tile;
    place -= own_places;
    tile -= own_tiles;
    for (uint i = 0; i < own; ++i) {
      atomic_store_explicit(cursors + thread_index * own + i, place, memory_order_relaxed);
      for (uint done = 0; done < count[i]; done += tile_choices) {
        groups[tile] = uint4(thread_index * own + i, place + done, min(count[i] - done, tile_choices), 0u);
        ++tile;
      }
      place += count[i];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = tile_ends[kLanes - 1] + thread_index; i < tiles; i += kSortThreads) groups[i] = uint4(0u);
  device uint* by_place = (device uint*)(groups + tiles);
#pragma unroll(8)
  for (uint choice = thread_index; choice < choices; choice += kSortThreads) {
    const uint expert = uint(experts[ulong(choice / p.top_k) * p.experts_stride + choice % p.top_k]);
    by_place[atomic_fetch_add_explicit(cursors + expert, 1u, memory_order_relaxed)] = choice;
  }
}

template [[host_name("moe_sort8")]] kernel decltype(moe_sort<8>) moe_sort<8>;
template [[host_name("moe_sort32")]] kernel decltype(moe_sort<32>) moe_sort<32>;
template [[host_name("moe_sort64")]] kernel decltype(moe_sort<64>) moe_sort<64>;
template [[host_name("moe_sort128")]] kernel decltype(moe_sort<128>) moe_sort<128>;

/** A thread's loads of 128 columns: codes of four weight rows, a scale or a bias of each, and words of choices. */
template <uint brought>
struct WideLoads {
  uint4 codes[2 * kTiles];
  uint numbers[2 * kTiles];
  uint4 words[brought];
  float total;
};

/** Weight rows of a lane, and the choices that a thread copies to threadgroup memory. */
template <uint brought>
struct WideSources {
  device const uchar* codes[2];     ///< of even and odd weight rows of a lane
  device const ushort* numbers[2];  ///< the same: scales in lanes 0 and 1 of four, biases in the others
  device const uint4* words;
  uint row_at[2 * kTiles];  ///< index of a weight row
  uint word_at[brought];
  device const float* totals;
  uint count;  ///< of choices

  WideLoads<brought> load(uint in, uint unit, uint lane) const {
    WideLoads<brought> loads;
    const uint at = min(unit * (kUnitColumns / 2) + lane % 4 * 16, in / 2 - 16);
    const uint group = min(unit * 2 + lane % 2, in / kGroupColumns - 1);
#pragma unroll
    for (uint i = 0; i < 2 * kTiles; ++i) loads.codes[i] = *(device const uint4*)(codes[i % 2] + ulong(row_at[i]) * (in / 2) + at);
#pragma unroll
    for (uint i = 0; i < 2 * kTiles; ++i) loads.numbers[i] = numbers[i % 2][ulong(row_at[i]) * (in / kGroupColumns) + group];
#pragma unroll
    for (uint k = 0; k < brought; ++k) {
      if (kBroughtChoices * k < count) loads.words[k] = words[word_at[k] + unit * kUnitWords];
    }
    loads.total = totals[unit * 2];
    return loads;
  }
};

/**
 * The codes of a lane for either group of 128 columns: lanes 0 and 1 of four have loaded the first group, 2 and 3 the second, and exchange
 * halves.
 */
inline void share_codes(uint4 loaded, uint lane, thread uint (&first)[2], thread uint (&second)[2]) {
  const bool is_lower = lane % 4 < 2;
#pragma unroll
  for (uint w = 0; w < 2; ++w) {
    const uint other = simd_shuffle_xor(is_lower ? loaded[w + 2] : loaded[w], 2);
    first[w] = is_lower ? loaded[w] : other;
    second[w] = is_lower ? other : loaded[w + 2];
  }
}

/** sums[i][b] += the products of weight rows of tile i with choices 8 b .. 8 b + 8, over the columns of a unit. */
template <uint tile_choices>
inline void multiply_unit(thread const uint4* loaded,
                          thread const uint* numbers,
                          threadgroup const uint4* words,
                          threadgroup const float (*totals)[tile_choices],
                          uint count,
                          uint lane,
                          thread float (&sums)[kTiles][tile_choices / 8][4]) {
  uint codes[2][2 * kTiles][2];
#pragma unroll
  for (uint i = 0; i < 2 * kTiles; ++i) share_codes(loaded[i], lane, codes[0][i], codes[1][i]);
  const uint part = lane % 4, own_word = part % 2 * 4 + part / 2 * 2;
#pragma unroll
  for (uint g = 0; g < 2; ++g) {
    float scale[2 * kTiles], shift[2 * kTiles];
    uint rows[kTiles][4][4];
#pragma unroll
    for (uint i = 0; i < 2 * kTiles; ++i) {
      scale[i] = from_bf16(ushort(simd_shuffle(numbers[i], ushort(lane / 4 * 4 + g))));
      shift[i] = fma(scale[i], -128.0f, from_bf16(ushort(simd_shuffle(numbers[i], ushort(lane / 4 * 4 + 2 + g)))));
#pragma unroll
      for (uint m = 0; m < 4; ++m) {
        const uint word = codes[g][i][m / 2] >> (m % 2 * 8);
        rows[i / 2][m][i % 2] = nvidia::masked_or(word, 0x000f000fu, 0x43004300u);
        rows[i / 2][m][i % 2 + 2] = nvidia::masked_or(word >> 4, 0x000f000fu, 0x43004300u);
      }
    }
#pragma unroll
    for (uint b = 0; b < tile_choices / 8; ++b) {
      if (8 * b >= count) break;
      threadgroup const uint4* own = words + (8 * b + lane / 4) * kWordStride + 8 * g + own_word;
      const uint4 low = own[0], high = own[1];
      const uint outputs[4][2] = {{low.x, low.y}, {low.z, low.w}, {high.x, high.y}, {high.z, high.w}};
      const float2 total = *(threadgroup const float2*)(totals[g] + 8 * b + 2 * part);
      float products[kTiles][4];
#pragma unroll
      for (uint i = 0; i < kTiles; ++i) {
#pragma unroll
        for (uint k = 0; k < 4; ++k) products[i][k] = 0.0f;
      }
#pragma unroll
      for (uint m = 0; m < 4; ++m) {
#pragma unroll
        for (uint i = 0; i < kTiles; ++i) nvidia::multiply_accumulate(products[i], rows[i][m], outputs[m]);
      }
#pragma unroll
      for (uint i = 0; i < kTiles; ++i) {
#pragma unroll
        for (uint k = 0; k < 4; ++k) {
          const uint row = 2 * i + k / 2;
          sums[i][b][k] = fma(scale[row], products[i][k], fma(shift[row], k % 2 == 0 ? total.x : total.y, sums[i][b][k]));
        }
      }
    }
  }
}

/** Grid: blocks of outputs × tiles. */
template <uint tile_choices>
kernel void moe_wide(constant MoeLinearParams& p [[buffer(0)]],
                     constant Launch& launch [[buffer(1)]],
                     device const uint4* prepared [[buffer(3)]],
                     device const uchar* w0 [[buffer(8)]],
                     device const uchar* s0 [[buffer(9)]],
                     device const uchar* b0 [[buffer(10)]],
                     device const uchar* w1 [[buffer(11)]],
                     device const uchar* s1 [[buffer(12)]],
                     device const uchar* b1 [[buffer(13)]],
                     device float* y [[buffer(14)]],
                     device const uint4* groups [[buffer(22)]],
                     uint2 at [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint kBlocks = tile_choices / 8, kBroughtWords = tile_choices / kBroughtChoices;
  // Units of columns whose loads are in flight: few choices leave registers for a second one.
  constexpr uint kDepth = tile_choices == 8 ? 2 : 1;
  threadgroup uint4 words[2][tile_choices * kWordStride];
  threadgroup float totals[2][2][tile_choices];
  const uint4 tile = groups[at.y];
  const uint expert = tile.x, count = tile.z;
  if (count == 0) return;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const uint choice_count = launch.rows * p.top_k, units = units_of(p.in);
  device const uint* choices = (device const uint*)(groups + most_tiles<tile_choices>(choice_count, p.experts)) + tile.y;

  // 1. Weight rows and choices; beyond the end, the last one is repeated.
  const bool is_pair = p.weights == 2;
  const uint outputs = is_pair ? kTile / 2 : kTile, first = (at.x * kWideSimdgroups + simdgroup) * kTiles * outputs;
  const uint items = p.has_slices != 0 ? choice_count : launch.rows, choices_of_item = p.has_slices != 0 ? 1 : p.top_k;
  device const float* all_totals = (device const float*)(prepared + ulong(items) * units * kUnitWords);
  WideSources<kBroughtWords> sources;
  sources.words = prepared;
  sources.count = count;
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    const bool is_up = is_pair && i == 1;
    device const uchar* numbers = lane % 4 < 2 ? (is_up ? s1 : s0) + launch.shift[is_up ? 10 : 7]
                                               : (is_up ? b1 : b0) + launch.shift[is_up ? 11 : 8];
    sources.codes[i] = is_up ? w1 : w0;
    sources.numbers[i] = (device const ushort*)numbers;
  }
#pragma unroll
  for (uint i = 0; i < 2 * kTiles; ++i) {
    const uint output = min(first + i / 2 * outputs + lane / 4 + (is_pair ? 0 : i % 2 * 8), p.out - 1);
    const uint index = is_pair && i % 2 == 1 ? 1 : 0;
    sources.row_at[i] = expert * p.weight[index].rows_per_expert + p.weight[index].first_row + output;
  }
  const uint own_word = thread_index % kUnitWords, own_choice = thread_index / kUnitWords;
#pragma unroll
  for (uint k = 0; k < kBroughtWords; ++k) {
    const uint item = choices[min(own_choice + k * kBroughtChoices, count - 1)] / choices_of_item;
    sources.word_at[k] = item * (units * kUnitWords) + own_word;
  }
  const uint total_choice = thread_index % tile_choices, total_group = thread_index / tile_choices % 2;
  sources.totals = all_totals + ulong(choices[min(total_choice, count - 1)] / choices_of_item) * units * 2 + total_group;

  // 2. The products.
  float sums[kTiles][kBlocks][4] = {};
  WideLoads<kBroughtWords> next[kDepth];
#pragma unroll
  for (uint d = 0; d < kDepth; ++d) next[d] = sources.load(p.in, min(d, units - 1), lane);
  for (uint begin = 0; begin < units; begin += kDepth) {
#pragma unroll
    for (uint d = 0; d < kDepth; ++d) {
      const uint unit = begin + d;
      if (unit >= units) break;
      threadgroup uint4* own_words = words[unit % 2];
#pragma unroll
      for (uint k = 0; k < kBroughtWords; ++k) {
        if (kBroughtChoices * k < count) own_words[(own_choice + k * kBroughtChoices) * kWordStride + own_word] = next[d].words[k];
      }
      if (thread_index < 2 * tile_choices) totals[unit % 2][total_group][total_choice] = next[d].total;
      uint4 codes[2 * kTiles];
      uint numbers[2 * kTiles];
#pragma unroll
      for (uint i = 0; i < 2 * kTiles; ++i) {
        codes[i] = next[d].codes[i];
        numbers[i] = next[d].numbers[i];
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      next[d] = sources.load(p.in, min(unit + kDepth, units - 1), lane);
      multiply_unit<tile_choices>(codes, numbers, own_words, totals[unit % 2], count, lane, sums);
    }
  }

  // 3. A lane has gate and up of the same output, or two outputs.
#pragma unroll
  for (uint b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (uint j = 0; j < 2; ++j) {
      const uint place = 8 * b + lane % 4 * 2 + j;
      if (place >= count) continue;
      const uint choice = choices[place];
      device float* to = y + ulong(choice / p.top_k) * p.y_stride + choice % p.top_k * p.out;
#pragma unroll
      for (uint i = 0; i < kTiles; ++i) {
        const uint output = first + i * outputs + lane / 4;
        if (is_pair) {
          if (output < p.out) to[output] = gelu_tanh(sums[i][b][j]) * sums[i][b][2 + j];
          continue;
        }
        if (output < p.out) to[output] = sums[i][b][j];
        if (output + 8 < p.out) to[output + 8] = sums[i][b][2 + j];
      }
    }
  }
}

template [[host_name("moe_wide8")]] kernel decltype(moe_wide<8>) moe_wide<8>;
template [[host_name("moe_wide32")]] kernel decltype(moe_wide<32>) moe_wide<32>;
