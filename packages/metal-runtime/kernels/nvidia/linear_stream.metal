/**
 * linear_stream: linear for up to eight rows by the tensor cores, in `fast`, with codes of 4 bits in groups of 64 and a multiple of 256
 * columns.
 *
 * The outputs are divided evenly over the multiprocessors, one threadgroup each, and the columns of its outputs over its simdgroups.
 * Every simdgroup copies what it multiplies into stages of its own in threadgroup memory, some ahead, and the first ones before the
 * step's inputs are there: weights arrive while the kernels before are still at work.
 *
 * Weight rows are the rows of the products, 16 at a time. Products are 8 columns wide: eight rows; or four, or one, whose groups of
 * 64 columns have columns of their own, so that scales and biases, in float32, come behind a product of two or four groups.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "nvidia/packed_rows.h"
#include "nvidia/bound_weights.h"
#include "linear_stream_tiles.h"

/** Bytes of a weight row in a stage, in pieces of 16. */
constant constexpr uint kRowBytes = MARKBASE_STREAM_COLUMNS / 2;
constant constexpr uint kSpans = MARKBASE_STREAM_COLUMNS / kSpan;

/** What kernels for `rows` rows have: 1, 4 or 8. */
template <uint rows>
struct Stream {
  /** Groups of columns that have columns of a product for themselves. */
  static constexpr uint apart = rows == 1 ? 4 : 8 / rows;
  static constexpr uint stages = stream_stages(rows);
  static constexpr uint stage_bytes = stream_stage_bytes(rows);
  static constexpr uint rows_at = kStreamCodeBytes + 2 * kStreamScalarBytes;
  static constexpr uint totals_at = rows_at + rows * kStreamRowBytes;
  static constexpr uint tiles = stream_tiles(rows);
  /** Sums of a lane, of a tile: of its two weight rows and its rows. */
  static constexpr uint sums = rows == 8 ? 4 : 2;
  /** Lanes of a weight row that have sums. */
  static constexpr uint places = rows == 1 ? 2 : 4;
  static constexpr uint share_floats = 8 * places * sums;
  static_assert(tiles * kRowSimdgroups * share_floats * 4 == stream_share_bytes(rows), "host and kernel disagree");
};

/** Where piece 0 of a weight row lies in a stage: lanes that read at once read from different banks. */
inline uint piece_mask(uint row) { return (row & 1) * 5 | (row & 2); }

struct StreamTile {
  uint weight;
  uint first;  ///< output
  uint count;  ///< of outputs
};

/** What falls to a threadgroup: some neighbouring outputs of every weight, in tiles. Of a pair, a tile has 8 gates and their ups. */
struct StreamShare {
  bool is_pair;
  uint outputs;  ///< of a tile
  uint begin[3], count[3];
  uint tiles, groups;  ///< groups of tiles that the simdgroups share
  uint chunks;         ///< of 256 columns

  StreamShare(constant LinearParams& p, uint at, uint threadgroups, uint group_tiles) {
    is_pair = p.epilogue == kLinearGeglu;
    outputs = is_pair ? 8 : 16;
    tiles = 0;
#pragma unroll
    for (uint i = 0; i < 3; ++i) {
      const uint out = i < (is_pair ? 1 : p.weights) ? p.weight[i].out : 0;
      begin[i] = ulong(out) * at / threadgroups;
      count[i] = ulong(out) * (at + 1) / threadgroups - begin[i];
      tiles += tiles_of(i);
    }
    groups = (tiles + group_tiles - 1) / group_tiles;
    chunks = p.in / MARKBASE_STREAM_COLUMNS;
  }
  uint tiles_of(uint weight) const { return (count[weight] + outputs - 1) / outputs; }

  StreamTile tile(uint index) const {
    uint weight = 0, first = begin[0], left = count[0];
#pragma unroll
    for (uint i = 0; i < 2; ++i) {
      if (weight != i || index < tiles_of(i)) continue;
      index -= tiles_of(i);
      weight = i + 1;
      first = begin[i + 1];
      left = count[i + 1];
    }
    return {weight, first + index * outputs, min(left - index * outputs, outputs)};
  }
};

/** What a simdgroup multiplies in a group of tiles: units of a tile and 256 columns, the tiles of some columns one after the other. */
struct StreamUnits {
  uint first_tile, tiles;
  uint tile, chunk;  ///< of the next unit; tile: of the group
  uint left;

  StreamUnits(StreamShare share, uint group, uint simdgroup) {
    first_tile = share.tiles * group / share.groups;
    tiles = share.tiles * (group + 1) / share.groups - first_tile;
    const uint units = share.chunks * tiles, begin = units * simdgroup / kRowSimdgroups;
    left = units * (simdgroup + 1) / kRowSimdgroups - begin;
    chunk = begin / tiles;
    tile = begin - chunk * tiles;
  }
  void advance() {
    --left;
    if (++tile < tiles) return;
    tile = 0;
    ++chunk;
  }
};

/** Copies the units of a simdgroup into its stages, in their order. `rows`: 1, 4 or 8. */
template <uint rows>
struct StreamCopier {
  StreamShare share;
  StreamUnits units;
  uint group, simdgroup, lane, row_bytes, scale_bytes;
  bool is_new;  ///< the next unit is the first one of its columns

  StreamCopier(StreamShare whole, uint in, uint thread_index)
      : share(whole), units(whole, 0, thread_index / kLanes), group(0), simdgroup(thread_index / kLanes), lane(thread_index % kLanes),
        row_bytes(in / 2), scale_bytes(in / kSpan * 2), is_new(true) {
    skip();
  }
  bool has_unit() const { return units.left > 0; }
  void advance() {
    units.advance();
    is_new = units.tile == 0 || units.left == 0;
    skip();
  }
  /** To the next group in which the simdgroup has units. */
  void skip() {
    while (units.left == 0 && group + 1 < share.groups) units = StreamUnits(share, ++group, simdgroup);
  }

  void copy_weights(constant Launch& launch, BoundWeights bound, threadgroup uchar* stage) const {
    const StreamTile tile = share.tile(units.first_tile + units.tile);
    const uint row = lane / 8, piece = lane % 8;
    threadgroup uchar* to = stage + row * kRowBytes + (piece ^ piece_mask(row)) * 16;
#pragma unroll
    for (uint half = 0; half < 2; ++half) {
      const uint n = row + (share.is_pair ? 0 : 8 * half);
      device const uchar* from = bound.codes(launch, share.is_pair ? half : tile.weight) + ulong(tile.first + n) * row_bytes +
                                 units.chunk * kRowBytes + piece * 16;
      if (n < tile.count) nvidia::copy_16(to + 8 * half * kRowBytes, from);
      if (n + 4 < tile.count) nvidia::copy_16(to + (8 * half + 4) * kRowBytes, from + 4 * row_bytes);
    }
    const uint scalar_row = lane % 16, n = share.is_pair ? scalar_row % 8 : scalar_row;
    const uint weight = share.is_pair ? scalar_row / 8 : tile.weight;
    device const uchar* scalars = lane < 16 ? bound.scales(launch, weight) : bound.biases(launch, weight);
    if (n < tile.count) {
      nvidia::copy_8(stage + kStreamCodeBytes + lane * 8, scalars + ulong(tile.first + n) * scale_bytes + units.chunk * (kSpans * 2));
    }
  }

  /** What the packed rows have in the columns, once for all tiles of a group. */
  void copy_rows(DevicePack x, threadgroup uchar* stage) const {
    if (rows == 1 || !is_new) return;
    device const uchar* words = (device const uchar*)x.words + units.chunk * kStreamRowBytes + lane * 16;
#pragma unroll
    for (uint r = 0; r < rows; ++r) {
      nvidia::copy_16(stage + Stream<rows>::rows_at + r * kStreamRowBytes + lane * 16, words + ulong(r) * (x.in * 2));
    }
    device const uchar* sums = (device const uchar*)x.sums() + units.chunk * kStreamTotalBytes + lane * 16;
    if (lane < kStreamTotalBytes / 16) nvidia::copy_16(stage + Stream<rows>::totals_at + lane * 16, sums);
  }
};

/** What a lane brings to the products of some columns, of the rows; of others than its own group, zeros. */
template <uint rows>
struct StreamRows {
  uint pairs[MARKBASE_STREAM_COLUMNS / 8];
  float totals[kSpans][rows == 8 ? 2 : 1];

  /** `words`: of the columns; `stride`: words of a row; `sums`: of the spans of the columns; `sum_stride`: of them, the floats of a span. */
  void load(threadgroup const uint* words, uint stride, threadgroup const float* sums, uint sum_stride, uint lane) {
    constexpr uint apart = Stream<rows>::apart, own = 8 * apart;
    const uint column = lane / 4, quarter = lane % 4;
    const bool is_own = column % apart == quarter * apart / 4 && column / apart < rows;
    threadgroup const uint* from = words + (is_own ? column / apart : 0) * stride + quarter * own;
#pragma unroll
    for (uint i = 0; i < MARKBASE_STREAM_COLUMNS / 8; i += 4) {
      uint4 four = uint4(0);
      if (is_own) four = *(threadgroup const uint4*)(from + i / own * (4 * own) + i % own);
      pairs[i] = four.x;
      pairs[i + 1] = four.y;
      pairs[i + 2] = four.z;
      pairs[i + 3] = four.w;
    }
#pragma unroll
    for (uint s = 0; s < (rows == 1 ? 2 : kSpans); ++s) {
      if (rows == 1) totals[s][0] = sums[quarter % 2 * 2 + s];
      else if (rows == 4) totals[s][0] = sums[s * sum_stride + quarter];
      else {
        totals[s][0] = sums[s * sum_stride + 2 * quarter];
        totals[s][rows == 8 ? 1 : 0] = sums[s * sum_stride + 2 * quarter + 1];
      }
    }
  }
};

/** sums += the products of a stage. */
template <uint rows>
inline void multiply_stage(threadgroup const uchar* stage, thread const StreamRows<rows>& x, uint lane,
                           thread float (&sums)[Stream<rows>::sums]) {
  constexpr uint apart = Stream<rows>::apart;
  const uint row = lane / 4, quarter = lane % 4;
  threadgroup const uchar* codes = stage + row * kRowBytes;
  threadgroup const uint2* scales = (threadgroup const uint2*)(stage + kStreamCodeBytes);
  threadgroup const uint2* biases = (threadgroup const uint2*)(stage + kStreamCodeBytes + kStreamScalarBytes);
  // Two neighbouring groups in a word.
  uint scale[2][2], bias[2][2];
#pragma unroll
  for (uint i = 0; i < 2; ++i) {
    const uint2 own_scales = scales[row + 8 * i], own_biases = biases[row + 8 * i];
    scale[i][0] = rows == 1 && quarter % 2 != 0 ? own_scales.y : own_scales.x;
    bias[i][0] = rows == 1 && quarter % 2 != 0 ? own_biases.y : own_biases.x;
    scale[i][1] = own_scales.y;
    bias[i][1] = own_biases.y;
  }
#pragma unroll
  for (uint s = 0; s < kSpans / apart; ++s) {
    // Columns of 2 apart words of a lane.
    uint words[2][2 * apart];
#pragma unroll
    for (uint i = 0; i < 2; ++i) {
      if (apart == 1) {
        const uint piece = (2 * s + quarter / 2) ^ piece_mask(row);
        const uint2 two = *(threadgroup const uint2*)(codes + 8 * i * kRowBytes + piece * 16 + quarter % 2 * 8);
        words[i][0] = two.x;
        words[i][1] = two.y;
      } else {
#pragma unroll
        for (uint w = 0; w < apart / 2; ++w) {
          const uint piece = (s * 4 + quarter * (apart / 2) + w) ^ piece_mask(row);
          const uint4 four = *(threadgroup const uint4*)(codes + 8 * i * kRowBytes + piece * 16);
          words[i][4 * w] = four.x;
          words[i][apart == 1 ? 0 : 4 * w + 1] = four.y;
          words[i][apart == 1 ? 0 : 4 * w + 2] = four.z;
          words[i][apart == 1 ? 0 : 4 * w + 3] = four.w;
        }
      }
    }
    // Two sums that do not wait for each other.
    float products[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
#pragma unroll
    for (uint m = 0; m < 4 * apart; ++m) {
      uint weights[4];
      four_bit_pairs(words[0][m / 2] >> (m % 2 * 8), weights[0], weights[2]);
      four_bit_pairs(words[1][m / 2] >> (m % 2 * 8), weights[1], weights[3]);
      const uint outputs[2] = {x.pairs[s * 8 * apart + 2 * m], x.pairs[s * 8 * apart + 2 * m + 1]};
      nvidia::multiply_accumulate(products[m % 2], weights, outputs);
    }
#pragma unroll
    for (uint k = 0; k < 4; ++k) {
      const float product = products[0][k] + products[1][k];
      // Of one and of four rows, neighbours in a product are two groups; of eight rows, two rows.
      const uint span = apart == 1 ? s : apart == 2 ? 2 * s + k % 2 : k % 2;
      const uint word = apart == 4 ? 0 : span / 2;
      const uint scale_word = scale[k / 2][word], bias_word = bias[k / 2][word];
      const float factor = as_type<float>(span % 2 == 0 ? scale_word << 16 : scale_word & 0xffff0000u);
      const float shift = fma(factor, -128.0f, as_type<float>(span % 2 == 0 ? bias_word << 16 : bias_word & 0xffff0000u));
      const uint at = rows == 8 ? k : k / 2;
      sums[at] = fma(factor, product, fma(shift, x.totals[span][rows == 8 ? k % 2 : 0], sums[at]));
    }
  }
}

/** The product of a weight row of a tile with a row: what the simdgroups made of it, in their order. */
template <uint rows>
inline float add_shares(threadgroup const float* shares, uint tile, uint weight_row, uint row) {
  using S = Stream<rows>;
  float total = 0.0f;
#pragma unroll
  for (uint simdgroup = 0; simdgroup < kRowSimdgroups; ++simdgroup) {
    threadgroup const float* own = shares + (tile * kRowSimdgroups + simdgroup) * S::share_floats + weight_row % 8 * S::places * S::sums;
    if (rows == 1) total += own[weight_row / 8] + own[S::sums + weight_row / 8];
    else if (rows == 4) total += own[row * S::sums + weight_row / 8];
    else total += own[row / 2 * S::sums + weight_row / 8 * 2 + row % 2];
  }
  return total;
}

/** Products of a threadgroup's share; the copier has begun with the first stages. `words`, `totals`: of the row, of kernels for one. */
template <uint rows>
inline void multiply_share(constant LinearParams& p, constant Launch& launch, BoundWeights bound, device const float* operand,
                           DevicePack x, threadgroup const uint* words, threadgroup const float* totals, threadgroup uchar* stages,
                           threadgroup float* shares, uint thread_index, thread StreamCopier<rows>& copier) {
  using S = Stream<rows>;
  const StreamShare share = copier.share;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  const bool has_place = lane % 4 < S::places;
  threadgroup float* place = shares + simdgroup * S::share_floats + (lane / 4 * S::places + lane % 4 % S::places) * S::sums;
  uint stage = 0, filled = (S::stages - 1) * S::stage_bytes;
  StreamRows<rows> own;
  for (uint group = 0; group < share.groups; ++group) {
    StreamUnits units(share, group, simdgroup);
    for (uint tile = 0; tile < units.tiles && has_place; ++tile) {
#pragma unroll
      for (uint k = 0; k < S::sums; ++k) place[tile * kRowSimdgroups * S::share_floats + k] = 0.0f;
    }
    bool is_new = true;
    while (units.left > 0) {
      nvidia::wait_copies<int(S::stages) - 2>();
      simdgroup_barrier(mem_flags::mem_threadgroup);
      if (copier.has_unit()) {
        copier.copy_weights(launch, bound, stages + filled);
        copier.copy_rows(x, stages + filled);
        copier.advance();
      }
      nvidia::end_copies();
      threadgroup const uchar* at = stages + stage;
      if (is_new && rows == 1) own.load(words + units.chunk * (kStreamRowBytes / 4), 0, totals + units.chunk * kSpans, 1, lane);
      if (is_new && rows != 1) {
        own.load((threadgroup const uint*)(at + S::rows_at), kStreamRowBytes / 4, (threadgroup const float*)(at + S::totals_at), 8, lane);
      }
      float sums[S::sums] = {};
      multiply_stage<rows>(at, own, lane, sums);
      threadgroup float* to = place + units.tile * kRowSimdgroups * S::share_floats;
      if (has_place) {
#pragma unroll
        for (uint k = 0; k < S::sums; ++k) to[k] += sums[k];
      }
      filled = stage;
      stage = stage + S::stage_bytes == S::stages * S::stage_bytes ? 0 : stage + S::stage_bytes;
      units.advance();
      is_new = units.tile == 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // Eight or sixteen outputs of a tile.
    const uint shift = share.is_pair ? 3 : 4;
    for (uint i = thread_index; i < (units.tiles * rows) << shift; i += kRowThreads) {
      const uint n = i & (share.outputs - 1), row = (i >> shift) % rows, index = (i >> shift) / rows;
      const StreamTile tile = share.tile(units.first_tile + index);
      if (row >= launch.rows || n >= tile.count) continue;
      const float product = add_shares<rows>(shares, index, n, row);
      const float up = share.is_pair ? add_shares<rows>(shares, index, n + 8, row) : 0.0f;
      const uint output = tile.first + n;
      bound.output(tile.weight)[ulong(row) * p.weight[tile.weight].y_stride + output] =
          finish_product(p, tile.weight, product, up, operand, row, output);
    }
    // Until all have read, nobody places the next ones.
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

/** Begins to copy the first stages: weights alone. Of several rows, add_rows follows, and ends the batches. */
template <uint rows>
inline void begin_copies(constant Launch& launch, BoundWeights bound, threadgroup uchar* stages, thread StreamCopier<rows>& copier) {
#pragma unroll
  for (uint i = 0; i + 1 < Stream<rows>::stages; ++i) {
    if (copier.has_unit()) {
      copier.copy_weights(launch, bound, stages + i * Stream<rows>::stage_bytes);
      copier.advance();
    }
    if (rows == 1) nvidia::end_copies();
  }
}

/** Copies what rows have in the columns of the first stages. */
template <uint rows>
inline void add_rows(DevicePack x, threadgroup uchar* stages, StreamCopier<rows> copier) {
#pragma unroll
  for (uint i = 0; i + 1 < Stream<rows>::stages; ++i) {
    if (copier.has_unit()) {
      copier.copy_rows(x, stages + i * Stream<rows>::stage_bytes);
      copier.advance();
    }
    nvidia::end_copies();
  }
}

/** `rows` packed rows: 4 or 8, of which launch.rows exist. x: the pack, of eight rows. */
template <uint rows>
kernel void linear_stream(MARKBASE_CORES_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  using S = Stream<rows>;
  threadgroup float shares[stream_share_bytes(rows) / 4];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  threadgroup uchar* stages = memory + thread_index / kLanes * (S::stages * S::stage_bytes);
  StreamCopier<rows> copier(StreamShare(p, at.x, groups.x, S::tiles), p.in, thread_index);
  const StreamCopier<rows> first = copier;
  begin_copies(launch, bound, stages, copier);
  nvidia::wait_for_inputs();
  const DevicePack source = {(device uint*)x, p.in, 8};
  add_rows(source, stages, first);
  multiply_share<rows>(p, launch, bound, operand, source, nullptr, nullptr, stages, shares, thread_index, copier);
}

/** One row, packed by every threadgroup for itself. */
kernel void linear_stream_row_q4(MARKBASE_CORES_ARGUMENTS, threadgroup uchar* memory [[threadgroup(0)]]) {
  using S = Stream<1>;
  threadgroup float partial[kRowSimdgroups];
  threadgroup float shares[stream_share_bytes(1) / 4];
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  threadgroup uint* packed = (threadgroup uint*)(memory + kRowSimdgroups * S::stages * S::stage_bytes);
  threadgroup uchar* stages = memory + thread_index / kLanes * (S::stages * S::stage_bytes);
  StreamCopier<1> copier(StreamShare(p, at.x, groups.x, S::tiles), p.in, thread_index);
  begin_copies(launch, bound, stages, copier);
  nvidia::wait_for_inputs();
  const ulong row = p.gathers != 0 ? output_row[0] : 0;
  const PackSource prologue = {x + row * p.x_stride, residual + row * p.residual_stride, residual_gain + launch.shift[2], h,
                               norm_gain + launch.shift[4], at.x == 0};
  pack_row<true>(p, prologue, SharedPack{packed, p.in}, partial, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  multiply_share<1>(p, launch, bound, operand, {}, packed, (threadgroup const float*)packed + p.in / 2, stages, shares, thread_index,
                    copier);
}

template [[host_name("linear_stream4_q4")]] kernel decltype(linear_stream<4>) linear_stream<4>;
template [[host_name("linear_stream8_q4")]] kernel decltype(linear_stream<8>) linear_stream<8>;
