/**
 * linear_batch: products of 17 to some hundred rows, the tokens of as many sequences, for compute capability 9.0 and 4-bit codes in groups
 * of 64. As linear_warpgroup, but weights pass through threadgroup memory in chunks of 256 columns, so that every copy of codes is a whole
 * line and every copy of scales serves four stages: with few rows, the number of copies determines the time.
 *
 * Warpgroups have 64 outputs each and all rows. Codes are converted in registers while the tensor cores multiply the previous stage. If
 * threadgroups divide the columns of a tile, linear_wide_add adds their products.
 */
#include <metal_stdlib>
using namespace metal;

#include "launch.h"
#include "linear_params.h"
#include "linear_wide_tiles.h"
#include "scalar_type.h"
#include "metal_storage.h"
#include "metal_math.h"
#include "metal_matrix.h"
#include "metal_fragments.h"
#include "metal_tile.h"
#include "metal_clip.h"
#include "metal_linear_epilogue.h"
#include "metal_linear_tile.h"
#include "nvidia/bound_weights.h"
#include "nvidia/wide_tile.h"
#include "linear_wide_nvidia.h"
#include "nvidia/warpgroup.h"

/** Stages of a chunk of weights. */
constant constexpr uint kChunkStages = MARKBASE_BATCH_COLUMNS / MARKBASE_WIDE_COLUMNS;
constant constexpr uint kChunkRowBytes = MARKBASE_BATCH_COLUMNS / 2;
constant constexpr uint kChunkScaleBytes = kChunkStages * 2;

/** A tile of `tile_rows` × 64 `warpgroups`, with stages of rows and chunks of weights in threadgroup memory. */
template <uint tile_rows, uint warpgroups>
struct BatchTile : WideTile<4, tile_rows, 2 * warpgroups, 128 * warpgroups> {
  using Base = WideTile<4, tile_rows, 2 * warpgroups, 128 * warpgroups>;
  static constexpr uint row_stages = batch_row_stages(tile_rows);
  static constexpr uint row_bytes = wide_row_bytes(tile_rows);
  static constexpr uint chunk_bytes = batch_chunk_bytes(Base::outputs);
  static constexpr uint chunks_at = row_stages * row_bytes;
  static constexpr uint chunk_scales_at = Base::outputs * kChunkRowBytes;
  /** Weight rows whose codes are copied at a time: a chunk in as many turns as it has stages. */
  static constexpr uint turn_rows = Base::outputs / kChunkStages;
};

/** Source of a thread's copies: 16 bytes of a row, of a weight row in each turn of a chunk, and the scales or biases of an output. */
template <typename B>
struct BatchSource {
  device const uchar* rows;
  ulong row_step;
  device const uchar* codes;
  device const uchar* scalars;
  uint row_bytes;
  uint output, output_step, last_output;

  BatchSource(constant LinearParams& p, constant Launch& launch, device const uchar* x, BoundWeights bound, Tile tile, uint thread_index) {
    const uint piece = thread_index % 8;
    rows = x + ulong(tile.first_row + thread_index / 8 % B::rows) * p.in * 2 + piece * 16;
    row_step = ulong(p.in) * (B::threads / 4);
    row_bytes = p.in / 2;
    // Blocks of gates and ups alternate within a turn, so that a thread copies rows of one weight.
    const WideOutput first = wide_output<B::output_blocks>(tile, thread_index / 8);
    codes = bound.codes(launch, first.weight) + piece * 16;
    output = tile.first_output + (tile.is_pair ? thread_index / 8 % (B::turn_rows / 2) : thread_index / 8);
    output_step = tile.is_pair ? B::turn_rows / 2 : B::turn_rows;
    last_output = tile.out - 1;
    const WideOutput scaled = wide_output<B::output_blocks>(tile, thread_index % B::outputs);
    scalars = (thread_index < B::outputs ? bound.scales(launch, scaled.weight) : bound.biases(launch, scaled.weight)) +
              ulong(scaled.output) * (p.in / MARKBASE_WIDE_COLUMNS) * 2;
  }

  void copy_rows(threadgroup uchar* memory, uint stage, uint span, uint thread_index) const {
    const uint row = thread_index / 8, piece = thread_index % 8;
    threadgroup uchar* to = memory + stage * B::row_bytes + row * kRowSpan + (piece ^ row % 8) * 16;
    device const uchar* from = rows + span * kRowSpan;
#pragma unroll
    for (uint i = 0; i < (B::rows * 8 + B::threads - 1) / B::threads; ++i) {
      if (row + i * (B::threads / 8) >= B::rows) break;
      nvidia::copy_16(to + i * (B::threads * 16), from + i * row_step);
    }
  }

  /** Turn `turn` of chunk `chunk`; the first turn includes scales and biases. */
  void copy_weights(threadgroup uchar* to, uint chunk, uint turn, uint thread_index) const {
    const uint row = turn * B::turn_rows + thread_index / 8, piece = thread_index % 8;
    const ulong from = ulong(min(output + turn * output_step, last_output)) * row_bytes + chunk * kChunkRowBytes;
    nvidia::copy_16(to + row * kChunkRowBytes + (piece ^ row % 4 * 2) * 16, codes + from);
    if (turn == 0) nvidia::copy_8_if(true, to + B::chunk_scales_at + thread_index * 8, scalars + chunk * kChunkScaleBytes);
  }
};

/** A lane's weights of stage `stage` of a chunk. */
template <typename B>
inline void make_weights(threadgroup const uchar* chunk, uint stage, uint lane, uint simdgroup, thread StageWeights& weights) {
  const uint selector = stage % 2 != 0 ? 0x3232 : 0x1010;
#pragma unroll
  for (uint j = 0; j < 2; ++j) {
    const uint output = simdgroup * 16 + 8 * j + lane / 4;
    threadgroup const uint* scalars = (threadgroup const uint*)(chunk + B::chunk_scales_at) + stage / 2;
    const uint scale = nvidia::select_bytes(scalars[2 * output], 0, selector);
    const uint bias = nvidia::select_bytes(scalars[2 * (B::outputs + output)], 0, selector);
    uint words[2];
    read_words<2>(chunk + output * kChunkRowBytes + ((2 * stage + lane % 4 / 2) ^ lane / 4 % 4 * 2) * 16 + lane % 2 * 8, words);
#pragma unroll
    for (int m = 0; m < kProducts; ++m) {
      uint pairs[2];
      weight_pairs<4>(words, m, scale, bias, pairs);
      weights.pairs[m][j] = pairs[0];
      weights.pairs[m][2 + j] = pairs[1];
    }
  }
}

/** Adds the products of chunks `begin` to `end`, at least one. */
template <typename B>
inline void multiply_chunks(thread const BatchSource<B>& source,
                            uint begin,
                            uint end,
                            threadgroup uchar* memory,
                            uint thread_index,
                            thread float (&sums)[B::rows / 2]) {
  constexpr uint stages = B::row_stages, most = stages - 1;
  const uint lane = thread_index % 32, simdgroup = thread_index / 32, first = begin * kChunkStages, last = end * kChunkStages;
  threadgroup uchar* chunks = memory + B::chunks_at;
  // The copies of an iteration are a batch: the rows of a stage, and a turn of a chunk. The first batches have the first two chunks.
#pragma unroll
  for (uint i = 0; i < most; ++i) {
    if (first + i < last) source.copy_rows(memory, i, first + i, thread_index);
#pragma unroll
    for (uint turn = 0; turn < kChunkStages; ++turn) {
      if (i == 0) source.copy_weights(chunks, begin, turn, thread_index);
      if (begin + 1 < end && i == min(turn + 1, most - 1)) source.copy_weights(chunks + B::chunk_bytes, begin + 1, turn, thread_index);
    }
    nvidia::end_copies();
  }
  nvidia::wait_copies<int(most) - 1>();
  nvidia::show_copies();
  threadgroup_barrier(mem_flags::mem_threadgroup);
  StageWeights weights[2];
  make_weights<B>(chunks, 0, lane, simdgroup, weights[0]);
  uint stage = 0, filled = most;
  uint own = 0, next = B::chunk_bytes, later = 2 * B::chunk_bytes;
  for (uint chunk = begin; chunk < end; ++chunk) {
#pragma unroll
    for (uint i = 0; i < kChunkStages; ++i) {
      const uint span = chunk * kChunkStages + i;
      nvidia::begin_products();
#pragma unroll
      for (int m = 0; m < kProducts; ++m) {
        nvidia::multiply_warpgroup<B::rows>(sums, weights[i % 2].pairs[m], memory + stage * B::row_bytes, m);
      }
      nvidia::end_products();
      if (i + 1 == kChunkStages && chunk + 1 == end) break;
      // The rows and weights that are overwritten now are no longer in use.
      nvidia::wait_products<1>();
      nvidia::wait_copies<int(stages) - 3>();
      nvidia::show_copies();
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (span + most < last) source.copy_rows(memory, filled, span + most, thread_index);
      if (chunk + 2 < end) source.copy_weights(chunks + later, chunk + 2, i, thread_index);
      nvidia::end_copies();
      make_weights<B>(chunks + (i + 1 < kChunkStages ? own : next), (i + 1) % kChunkStages, lane, simdgroup, weights[(i + 1) % 2]);
      filled = stage;
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    const uint oldest = own;
    own = next;
    next = later;
    later = oldest;
  }
  nvidia::wait_products<0>();
}

template <uint rows, uint warpgroups>
kernel void linear_batch(MARKBASE_WIDE_ARGUMENTS) {
  using B = BatchTile<rows, warpgroups>;
  const BoundWeights bound = MARKBASE_BOUND_WEIGHTS;
  const Tile tile = tile_at<B::rows, B::outputs>(p, uint2(at.x, at.y));
  const uint all = p.in / MARKBASE_BATCH_COLUMNS, begin = all * at.z / grid.z, end = all * (at.z + 1) / grid.z;
  const BatchSource<B> source(p, launch, x, bound, tile, thread_index);
  float sums[rows / 2];
#pragma unroll
  for (uint i = 0; i < rows / 2; ++i) sums[i] = 0.0f;
  multiply_chunks<B>(source, begin, end, memory, thread_index, sums);
  place_sums<B>(memory, thread_index, sums);
  store_products<B>(p, launch, bound, tile, (threadgroup const float*)memory, operand, shares, at, grid, thread_index);
}

#define MARKBASE_LINEAR_BATCH(tile, rows, warpgroups) \
  template [[host_name("linear_batch" #tile "_q4")]] kernel decltype(linear_batch<rows, warpgroups>) linear_batch<rows, warpgroups>;

MARKBASE_LINEAR_BATCH(32x128, 32, 2)
MARKBASE_LINEAR_BATCH(32x192, 32, 3)
MARKBASE_LINEAR_BATCH(64x128, 64, 2)
MARKBASE_LINEAR_BATCH(64x192, 64, 3)
MARKBASE_LINEAR_BATCH(64x256, 64, 4)
MARKBASE_LINEAR_BATCH(128x192, 128, 3)
