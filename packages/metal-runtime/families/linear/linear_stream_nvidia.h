#pragma once

/**
 * How the linear_stream kernels divide their work and copy weights into threadgroup memory: see linear_stream_nvidia.metal. The including
 * file has metal_stdlib, launch.h, linear_params.h, linear_stream_tiles.h, metal_math.h, metal_matrix.h, metal_clip.h,
 * metal_linear_epilogue.h, packed_rows.h and bound_weights.h.
 */

#pragma METAL fp contract(off)

constant constexpr uint kThreads = MARKBASE_STREAM_THREADS;
constant constexpr uint kSimdgroups = kThreads / kLanes;
constant constexpr uint kChunk = MARKBASE_STREAM_COLUMNS;
/** Bytes of a weight row in a stage, copied in pieces of 16. */
constant constexpr uint kRowBytes = kChunk / 2;
constant constexpr uint kSpans = kChunk / kSpan;
constant constexpr uint kStages = MARKBASE_STREAM_STAGES;

/** Offset of piece 0 of a weight row in a stage, chosen so that lanes that read together read from different banks. */
inline uint piece_mask(uint row) { return (row & 1) * 5 | (row & 2); }

struct StreamTile {
  uint weight;
  uint offset;  ///< the threadgroup's first output of the weight
  uint count;   ///< of outputs
};

/** The work of a threadgroup: adjacent outputs of every weight, in tiles. For a pair, a tile has 8 gate rows and their up rows. */
struct StreamShare {
  bool is_pair;
  uint outputs;  ///< of a tile
  uint begin[3], count[3];
  uint tiles, group_tiles;  ///< in total, and in a group, which the simdgroups share
  uint chunks;

  StreamShare(constant LinearParams& p, uint at, uint threadgroups, uint most_tiles) {
    is_pair = p.epilogue == kLinearGeglu;
    outputs = is_pair ? 8 : 16;
    tiles = 0;
#pragma unroll
    for (uint i = 0; i < 3; ++i) {
      const uint out = i < (is_pair ? 1 : p.weights) ? p.weight[i].out : 0;
      const uint least = out / threadgroups, more = out - least * threadgroups;
      begin[i] = least * at + min(at, more);
      count[i] = least + (at < more ? 1 : 0);
      tiles += tiles_of(i);
    }
    const uint groups = (tiles + most_tiles - 1) / most_tiles;
    group_tiles = (tiles + groups - 1) / groups;
    chunks = p.in / kChunk;
  }
  uint tiles_of(uint weight) const { return (count[weight] + outputs - 1) / outputs; }

  StreamTile tile(uint index) const {
    uint weight = 0, left = count[0];
    if (tiles != tiles_of(0)) {
#pragma unroll
      for (uint i = 0; i < 2; ++i) {
        const bool is_behind = weight == i && index >= tiles_of(i);
        index -= is_behind ? tiles_of(i) : 0;
        weight = is_behind ? i + 1 : weight;
        left = is_behind ? count[i + 1] : left;
      }
    }
    return {weight, index * outputs, min(left - index * outputs, outputs)};
  }
  uint first_output(uint weight) const { return weight == 0 ? begin[0] : weight == 1 ? begin[1] : begin[2]; }
};

/** The work of a simdgroup in a group of tiles: units of one tile and one chunk of columns; all tiles of a chunk, then the next chunk. */
struct StreamUnits {
  uint first_tile, tiles;
  uint tile, chunk;  ///< of the next unit; tile: of the group
  uint left;

  StreamUnits(StreamShare share, uint first, uint simdgroup) {
    first_tile = first;
    tiles = min(share.group_tiles, share.tiles - first);
    const uint begin = share.chunks * tiles * simdgroup / kSimdgroups;
    left = share.chunks * tiles * (simdgroup + 1) / kSimdgroups - begin;
    chunk = share.chunks * simdgroup / kSimdgroups;
    tile = begin - chunk * tiles;
  }
  void advance() {
    --left;
    ++tile;
    chunk += tile == tiles ? 1 : 0;
    tile = tile == tiles ? 0 : tile;
  }
};

/** Copies the units of a simdgroup into its stages, in order. */
struct StreamCopier {
  StreamShare share;
  StreamUnits units;
  BoundWeights bound;
  uint simdgroup, lane, row_bytes, scale_bytes;
  uint weight;  ///< base of the next three offsets: the lane's part of the first row of the threadgroup
  device const uchar* low;
  device const uchar* high;  ///< of weight rows 8 to 15 of a tile
  device const uchar* scalars;

  StreamCopier(StreamShare whole, BoundWeights weights, constant Launch& launch, uint in, uint thread_index)
      : share(whole),
        units(whole, 0, thread_index / kLanes),
        bound(weights),
        simdgroup(thread_index / kLanes),
        lane(thread_index % kLanes),
        row_bytes(in / 2),
        scale_bytes(in / kSpan * 2) {
    skip();
    enter(launch, 0);
  }
  /** Moves to the next group in which the simdgroup has units. */
  void skip() {
    while (units.left == 0 && units.first_tile + units.tiles < share.tiles) {
      units = StreamUnits(share, units.first_tile + units.tiles, simdgroup);
    }
  }
  void enter(constant Launch& launch, uint index) {
    weight = index;
    const uint row = share.first_output(index) + lane / 8;
    low = bound.codes(launch, index) + ulong(row) * row_bytes + lane % 8 * 16;
    high = share.is_pair ? bound.codes(launch, 1) + ulong(row) * row_bytes + lane % 8 * 16 : low + 8 * row_bytes;
    const uint scalar_row = lane % 16, own = share.is_pair ? scalar_row / 8 : index;
    scalars = (lane < 16 ? bound.scales(launch, own) : bound.biases(launch, own)) +
              ulong(share.first_output(index) + (share.is_pair ? scalar_row % 8 : scalar_row)) * scale_bytes;
  }

  /** Copies the next unit, if there is one. */
  void copy(constant Launch& launch, threadgroup uchar* stage) {
    if (units.left == 0) return;
    const StreamTile tile = share.tile(units.first_tile + units.tile);
    if (tile.weight != weight) enter(launch, tile.weight);
    const uint row = lane / 8, behind = share.is_pair ? 0 : 8;
    threadgroup uchar* to = stage + row * kRowBytes + (lane % 8 ^ piece_mask(row)) * 16;
    const uint at = tile.offset * row_bytes + units.chunk * kRowBytes;
    nvidia::copy_16_if(row < tile.count, to, low + at);
    nvidia::copy_16_if(row + 4 < tile.count, to + 4 * kRowBytes, low + at + 4 * row_bytes);
    nvidia::copy_16_if(row + behind < tile.count, to + 8 * kRowBytes, high + at);
    nvidia::copy_16_if(row + behind + 4 < tile.count, to + 12 * kRowBytes, high + at + 4 * row_bytes);
    const uint scalar_row = share.is_pair ? lane % 8 : lane % 16;
    nvidia::copy_8_if(scalar_row < tile.count, stage + kStreamCodeBytes + lane * 8,
                      scalars + tile.offset * scale_bytes + units.chunk * (kSpans * 2));
    units.advance();
    if (units.left == 0) skip();
  }
};

/** Element `index` of the two bf16 values in a word. */
inline float bf16_of(uint word, uint index) { return as_type<float>(index % 2 == 0 ? word << 16 : word & 0xffff0000u); }

/** Stores the outputs of tiles from `first` on. `shares`: [tiles, simdgroups]. */
template <typename Kind>
inline void store_outputs(constant LinearParams& p,
                          constant Launch& launch,
                          BoundWeights bound,
                          StreamShare share,
                          uint first,
                          uint tiles,
                          threadgroup const float* shares,
                          device const float* operand,
                          uint thread_index) {
  // Eight or sixteen outputs of a tile; each simdgroup is either fully active or idle.
  constexpr uint rows = Kind::rows, parts = Kind::parts;
  const uint shift = share.is_pair ? 3 : 4;
  for (uint i = thread_index; i < (tiles * rows * parts) << shift; i += kThreads) {
    const uint n = i / parts & (share.outputs - 1), row = (i / parts >> shift) % rows, index = (i / parts >> shift) / rows;
    threadgroup const float* own = shares + index * (kSimdgroups * kLanes * Kind::sums);
    const float product = Kind::add_shares(own, n, row, i % parts);
    const float up = share.is_pair ? Kind::add_shares(own, n + 8, row, i % parts) : 0.0f;
    const StreamTile tile = share.tile(first + index);
    if (row >= launch.rows || n >= tile.count || i % parts != 0) continue;
    const uint output = share.first_output(tile.weight) + tile.offset + n;
    bound.output(tile.weight)[ulong(row) * p.weight[tile.weight].y_stride + output] =
        finish_product(p, tile.weight, product, up, operand, row, output);
  }
}

/**
 * The products of a threadgroup's share, whose first stages are already being copied. `shares`: the sums of the lanes, [tiles of a group,
 * simdgroups]. `Kind`: Columns, a lane's operands for the products of a chunk, of `rows` rows; multiply(), the products of a stage;
 * add_shares(), the sum over simdgroups, of which adjacent threads compute `parts`.
 */
template <typename Kind, typename X>
inline void multiply_share(constant LinearParams& p,
                           constant Launch& launch,
                           device const float* operand,
                           X x,
                           threadgroup uchar* stages,
                           threadgroup float* shares,
                           uint thread_index,
                           thread StreamCopier& copier) {
  const StreamShare share = copier.share;
  const uint lane = thread_index % kLanes, simdgroup = thread_index / kLanes;
  constexpr uint tile_floats = kSimdgroups * kLanes * Kind::sums;
  threadgroup float* place = shares + (simdgroup * kLanes + lane) * Kind::sums;
  uint stage = 0, filled = (kStages - 1) * kStreamStageBytes;
  typename Kind::Columns columns(x, lane);
  for (uint first = 0; first < share.tiles; first += share.group_tiles) {
    StreamUnits units(share, first, simdgroup);
    for (uint tile = 0; tile < units.tiles; ++tile) {
#pragma unroll
      for (uint k = 0; k < Kind::sums; ++k) place[tile * tile_floats + k] = 0.0f;
    }
    for (bool is_new = true; units.left > 0; is_new = units.tile == 0) {
      if (is_new) columns.load(x, units.chunk, lane);
      nvidia::wait_copies<int(kStages) - 2>();
      simdgroup_barrier(mem_flags::mem_threadgroup);
      copier.copy(launch, stages + filled);
      nvidia::end_copies();
      threadgroup float* to = place + units.tile * tile_floats;
      float sums[Kind::sums];
#pragma unroll
      for (uint k = 0; k < Kind::sums; ++k) sums[k] = to[k];
      Kind::multiply(stages + stage, columns, lane, sums);
#pragma unroll
      for (uint k = 0; k < Kind::sums; ++k) to[k] = sums[k];
      filled = stage;
      stage = stage == (kStages - 1) * kStreamStageBytes ? 0 : stage + kStreamStageBytes;
      units.advance();
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    store_outputs<Kind>(p, launch, copier.bound, share, first, units.tiles, shares, operand, thread_index);
    // All threads must have read these before the next ones are written.
    if (first + share.group_tiles < share.tiles) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

/** Starts the copies of the first stages. */
inline void begin_copies(constant Launch& launch, threadgroup uchar* stages, thread StreamCopier& copier) {
  for (uint i = 0; i + 1 < kStages; ++i) {
    copier.copy(launch, stages + i * kStreamStageBytes);
    nvidia::end_copies();
  }
}
