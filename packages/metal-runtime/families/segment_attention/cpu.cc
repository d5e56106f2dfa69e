/**
 * segment_attention: out = softmax(q k^T) v per query head, scale 1, where every row sees all rows of its segment.
 *
 * Phase 0, one item per block of rows: keys and values of all heads into the layout of cpu_tile.h, normalised and rotated
 * first with has_prepare. Phase 1, one item per block of query rows of one segment and head: their norm and rotation, then all tiles of
 * keys of the segment. Tiles start at the segment, so that an image gives the same bits alone and among others.
 */
#include "segment_attention_params.h"

#include "call.h"
#include "kernel_list.h"
#include "cpu_tile.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** Query rows per item: enough that many share a tile of keys read from memory, few enough to keep all threads busy. */
constexpr uint32_t kItemRows = 8 * kRowGroup;

/** Layout of the scratch memory of a call. */
struct Layout {
  uint32_t blocks;     ///< packed blocks of keys of one head
  uint32_t padded;     ///< head width in whole vectors
  size_t head_keys;    ///< bytes of the packed keys of one head; those of all heads are at 0
  size_t head_values;  ///< bytes of the packed values of one head
  size_t values;       ///< offset of the packed values
  size_t queries;      ///< offsets in thread-private memory: packed queries ...
  size_t acc;          ///< ... weighted sums ...
  size_t scores;       ///< ... scores of one group of rows; one head as floats is at 0
  size_t thread_begin;
  size_t thread_bytes;
};

template <class Form>
Layout layout_of(const SegmentAttentionParams& p, uint32_t rows) {
  Layout layout = {};
  layout.blocks = divide_up(rows, kKeyBlock);
  layout.padded = divide_up(p.width, kLanes) * kLanes;
  layout.head_keys = align_up(layout.blocks * Form::key_block_bytes(p.width));
  layout.head_values = align_up(Form::value_bytes(layout.blocks * kKeyBlock, layout.padded));
  layout.values = p.kv_heads * layout.head_keys;
  layout.queries = align_up(size_t{2} * p.width * sizeof(float));
  layout.acc = layout.queries + align_up(kItemRows * Form::query_bytes(p.width));
  layout.scores = layout.acc + align_up(size_t{kItemRows} * layout.padded * sizeof(float));
  layout.thread_begin = layout.values + p.kv_heads * layout.head_values;
  layout.thread_bytes = layout.scores + align_up(size_t{kRowGroup} * kScoreStride * sizeof(float));
  return layout;
}

/** A block of query rows of one segment. */
struct QueryTile {
  uint32_t segment_begin;
  uint32_t segment_end;
  uint32_t begin;
  uint32_t end;
};

/** Rows of the segment that starts at `row`. */
uint32_t segment_length(const CpuCall& call, uint32_t row_set, uint32_t row) {
  return static_cast<uint32_t>(call.step->visible_end[row_set][row]) + 1;
}

uint32_t count_tiles(const CpuCall& call, uint32_t row_set) {
  uint32_t tiles = 0;
  for (uint32_t row = 0; row < call.step->rows[row_set];) {
    const uint32_t length = segment_length(call, row_set, row);
    tiles += divide_up(length, kItemRows);
    row += length;
  }
  return tiles;
}

QueryTile find_tile(const CpuCall& call, uint32_t row_set, uint32_t index) {
  uint32_t row = 0;
  for (;;) {
    const uint32_t length = segment_length(call, row_set, row);
    const uint32_t tiles = divide_up(length, kItemRows);
    if (index < tiles) {
      const uint32_t begin = row + index * kItemRows;
      return {row, row + length, begin, smaller(begin + kItemRows, row + length)};
    }
    index -= tiles;
    row += length;
  }
}

template <class Form>
struct Worker {
  const CpuCall& call;
  const SegmentAttentionParams& p;
  Layout layout;
  std::byte* own;  ///< thread-private memory

  std::byte* key_block(uint32_t head, uint32_t block) const {
    return call.scratch + head * layout.head_keys + block * Form::key_block_bytes(p.width);
  }
  std::byte* values(uint32_t head) const { return call.scratch + layout.values + head * layout.head_values; }

  /** A prepared head of q or k; `to`: buffer of one head. */
  const float* prepared(const float* head, uint32_t row, uint32_t gain, uint32_t gain_type, float* to) const {
    if (p.has_prepare == 0) return head;
    norm_row(head, p.width, p.eps, buffer<const void>(call, gain), gain_type, to);
    rope_axes(to, buffer<const float>(call, 6) + size_t{row} * p.width, p.width, p.axes, to);
    return to;
  }

  /** Packs the keys and values of one block of rows, padded with zeros. */
  void pack(uint32_t block) const {
    const uint32_t rows = call.step->rows[p.row_set];
    const uint32_t begin = block * kKeyBlock;
    float* const first = reinterpret_cast<float*>(own);
    float* const second = first + p.width;
    for (uint32_t g = 0; g < p.kv_heads; ++g) {
      if (rows - begin < kKeyBlock) __builtin_memset(key_block(g, block), 0, Form::key_block_bytes(p.width));
      for (uint32_t row = begin; row < smaller(begin + kKeyBlock, rows); ++row) {
        const float* key = buffer<const float>(call, 1) + size_t{row} * p.k_stride + g * p.width;
        Form::pack_key(prepared(key, row, 5, p.k_gain_type, first), p.width, row - begin, key_block(g, block));
      }
      for (uint32_t row = begin; row < begin + kKeyBlock; row += 2) {
        const float* one = row < rows ? value(row, g, first) : nullptr;
        const float* other = row + 1 < rows ? value(row + 1, g, second) : nullptr;
        Form::pack_values(one, other, p.width, layout.padded, values(g) + Form::value_bytes(row, layout.padded));
      }
    }
  }

  const float* value(uint32_t row, uint32_t g, float* to) const {
    const float* head = buffer<const float>(call, 2) + size_t{row} * p.v_stride + g * p.width;
    if (p.has_prepare == 0) return head;
    norm_row(head, p.width, p.eps, nullptr, kScalarF32, to);
    return to;
  }

  void attend(const QueryTile& tile, uint32_t h) const {
    const uint32_t g = h / (p.heads / p.kv_heads);
    const uint32_t groups = divide_up(tile.end - tile.begin, kRowGroup);
    load_queries(tile, h, groups * kRowGroup);
    auto* acc = reinterpret_cast<float*>(own + layout.acc);
    __builtin_memset(acc, 0, size_t{groups} * kRowGroup * layout.padded * sizeof(float));
    RunningSoftmax states[kItemRows];
    for (RunningSoftmax& state : states) state = {-__builtin_inff(), 0, 0};

    for (uint32_t begin = tile.segment_begin; begin < tile.segment_end; begin += kTileKeys) {
      const uint32_t count = smaller(kTileKeys, tile.segment_end - begin);
      for (uint32_t i = 0; i < groups * kRowGroup; i += kRowGroup) {
        attend_group(i, g, begin, count, states + i, acc + size_t{i} * layout.padded);
      }
    }
    for (uint32_t row = tile.begin; row < tile.end; ++row) {
      const uint32_t i = row - tile.begin;
      const F32 factor = splat(1.0f / states[i].sum);
      float* out = buffer<float>(call, 3) + size_t{row} * p.out_stride + h * p.width;
      const float* from = acc + size_t{i} * layout.padded;
      for_each_vector(p.width, [&](uint32_t k, uint32_t n) { store(out + k, load(from + k) * factor, n); });
    }
  }

  /** Packs `count` queries of a head; beyond the end, the last row is repeated. */
  void load_queries(const QueryTile& tile, uint32_t h, uint32_t count) const {
    float* const head = reinterpret_cast<float*>(own);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t row = smaller(tile.begin + i, tile.end - 1);
      const float* query = buffer<const float>(call, 0) + size_t{row} * p.q_stride + h * p.width;
      Form::pack_query(prepared(query, row, 4, p.q_gain_type, head), p.width, own + layout.queries + i * Form::query_bytes(p.width));
    }
  }

  /** Processes the keys [begin, begin + count) for the rows from index `first` of the item on. */
  void attend_group(uint32_t first, uint32_t g, uint32_t begin, uint32_t count, RunningSoftmax* states, float* acc) const {
    const std::byte* queries = own + layout.queries + first * Form::query_bytes(p.width);
    // Blocks are aligned to rows of the step, tiles to the segment: scores are indexed relative to the tile.
    float* scores = reinterpret_cast<float*>(own + layout.scores) + kKeyBlock;
    for (uint32_t block = begin / kKeyBlock; block * kKeyBlock < begin + count; ++block) {
      float* target = scores + (static_cast<ptrdiff_t>(block * kKeyBlock) - static_cast<ptrdiff_t>(begin));
      Form::score(queries, key_block(g, block), p.width, target);
    }
    for (uint32_t r = 0; r < kRowGroup; ++r) weigh_tile(scores + r * kScoreStride, count, states[r], Form::exponential);
    Form::accumulate(scores, values(g), begin, count, layout.padded, states, acc);
  }
};

template <class Form>
void run_form(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  const auto& p = params_of<SegmentAttentionParams>(call);
  const Layout layout = layout_of<Form>(p, call.step->rows[p.row_set]);
  const Worker<Form> worker = {call, p, layout, call.scratch + layout.thread_begin + thread * layout.thread_bytes};
  if (phase == 0) {
    for (uint32_t block = begin; block < end; ++block) worker.pack(block);
    return;
  }
  // Tiles of one head follow each other: its packed keys and values stay in a cache.
  const uint32_t tiles = count_tiles(call, p.row_set);
  for (uint32_t item = begin; item < end; ++item) {
    worker.attend(find_tile(call, p.row_set, item % tiles), item / tiles);
  }
}

size_t scratch_bytes(const void* params, uint32_t max_rows, uint32_t threads) {
  const auto& p = *static_cast<const SegmentAttentionParams*>(params);
  const Layout layout = p.is_fast != 0 ? layout_of<BfloatForm>(p, max_rows) : layout_of<FloatForm>(p, max_rows);
  return layout.thread_begin + threads * layout.thread_bytes;
}

uint32_t items(const CpuCall& call, uint32_t phase) {
  const auto& p = params_of<SegmentAttentionParams>(call);
  const uint32_t rows = call.step->rows[p.row_set];
  return phase == 0 ? divide_up(rows, kKeyBlock) : count_tiles(call, p.row_set) * p.heads;
}

void run(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  if (params_of<SegmentAttentionParams>(call).is_fast != 0) {
    run_form<BfloatForm>(call, phase, begin, end, thread);
  } else {
    run_form<FloatForm>(call, phase, begin, end, thread);
  }
}

}  // namespace

const CpuKernel kSegmentAttention = {"segment_attention", 2, items, run, scratch_bytes};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
