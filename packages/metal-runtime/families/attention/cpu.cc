/**
 * attention: out = softmax(q k^T) v per query head, float32, scale 1; query head h reads kv head h / (H/G).
 *
 * Phase 0 (only with has_prepare, one item per row): per-head norm and rotation of q into scratch, of k into the cache, norm
 * of v into the cache. Phase 1: attention, cut in one of two ways that give the same bits (see cpu_tile.h):
 * `direct`, for many rows: an item is some rows of one kv head, over all their positions; `split`, for few rows with long
 * contexts: an item is one partition of one row and kv head, and phase 2 (one item per row and head) folds the partitions.
 */
#include "attention_params.h"

#include "cpu_tile.h"
#include "cache_table.h"
#include "call.h"
#include "kernel_list.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

/** Items per thread that let dynamic scheduling balance the load; with fewer in direct mode, the positions are split. */
constexpr uint32_t kItemsPerThread = 4;

/** Maximum scratch memory for the results of partitions; beyond it, contexts are not split. */
constexpr size_t kMaxSplitBytes = size_t{96} << 20;

/** Floats of the result of one partition: maximum, sum, padding to a vector, then acc. */
constexpr uint32_t kPartHeader = 16;

struct Plan {
  uint32_t rows;
  uint32_t group_heads;  ///< query heads per kv head
  uint32_t tile_heads;   ///< of them in a tile
  uint32_t head_tiles;   ///< tiles per kv head
  uint32_t tile_rows;    ///< rows in a direct item
  uint32_t parts;        ///< maximum partitions of a row; 0 = direct
  uint32_t padded;       ///< padded head width
  size_t part_floats;
  size_t part_begin;    ///< offsets in the scratch: partition results ...
  size_t thread_begin;  ///< ... and thread-private memory; the prepared q is at 0
  size_t thread_floats;
};

/** The positions [low, high) that a row sees. */
struct Range {
  uint32_t low;
  uint32_t high;
};

Range visible(const CpuCall& call, const AttentionParams& p, uint32_t row) {
  const int32_t position = call.step->position[p.row_set][row];
  const int32_t window = static_cast<int32_t>(p.window);
  if (window == 0) return {0, static_cast<uint32_t>(position) + 1};
  const int32_t low = position - window + 1;
  return {static_cast<uint32_t>(low > 0 ? low : 0), static_cast<uint32_t>(call.step->visible_end[p.row_set][row]) + 1};
}

uint32_t partitions(Range range) { return (range.high - 1) / kPartition - range.low / kPartition + 1; }

/** Partitions of a row that sees the whole cache. */
uint32_t most_partitions(const AttentionParams& p) { return p.capacity / kPartition + 2; }

/** Everything that does not depend on the positions. `parts` is left 0. */
Plan shape_of(const AttentionParams& p, uint32_t rows, uint32_t threads) {
  Plan plan = {};
  plan.rows = rows;
  plan.group_heads = p.heads / p.kv_heads;
  plan.tile_heads = smaller(plan.group_heads, kTileQueries);
  // Fewer heads per tile means reading the keys more often, but from a cache: better than an idle thread.
  while (plan.tile_heads > 1 && rows * p.kv_heads * divide_up(plan.group_heads, plan.tile_heads) < threads) {
    plan.tile_heads = divide_up(plan.tile_heads, 2);
  }
  plan.head_tiles = divide_up(plan.group_heads, plan.tile_heads);
  plan.padded = padded_width(p.width);
  plan.part_floats = plan.padded + kPartHeader;
  plan.part_begin = p.has_prepare != 0 ? align_up(size_t{rows} * p.heads * p.width * sizeof(float)) : 0;
  // Query rows are copied when they must be padded.
  plan.thread_floats = tile_floats(p.width) + size_t{2} * kTileQueries * plan.padded;
  return plan;
}

size_t split_bytes(const AttentionParams& p, const Plan& plan, uint32_t rows, uint32_t parts) {
  return size_t{rows} * p.heads * parts * plan.part_floats * sizeof(float);
}

/** True when there are too few rows to keep all threads busy without splitting their positions. */
bool is_narrow(const AttentionParams& p, const Plan& plan, uint32_t rows, uint32_t threads) {
  return rows * p.kv_heads * plan.head_tiles < kItemsPerThread * threads;
}

size_t scratch_bytes(const void* params, uint32_t max_rows, uint32_t threads) {
  const auto& p = *static_cast<const AttentionParams*>(params);
  const Plan plan = shape_of(p, max_rows, threads);
  uint32_t narrow_rows = max_rows;
  while (narrow_rows > 0 && !is_narrow(p, plan, narrow_rows, threads)) --narrow_rows;
  size_t split = split_bytes(p, plan, narrow_rows, most_partitions(p));
  if (split > kMaxSplitBytes) split = kMaxSplitBytes;
  return plan.part_begin + align_up(split) + threads * align_up(plan.thread_floats * sizeof(float));
}

Plan plan_of(const CpuCall& call) {
  const auto& p = params_of<AttentionParams>(call);
  Plan plan = shape_of(p, call.step->rows[p.row_set], call.threads);
  plan.thread_begin = plan.part_begin;
  if (is_narrow(p, plan, plan.rows, call.threads)) {
    uint32_t parts = 0;
    for (uint32_t row = 0; row < plan.rows; ++row) parts = larger(parts, partitions(visible(call, p, row)));
    const size_t bytes = split_bytes(p, plan, plan.rows, parts);
    if (parts > 1 && parts <= most_partitions(p) && bytes <= kMaxSplitBytes) {
      plan.parts = parts;
      plan.thread_begin += align_up(bytes);
    }
  }
  const uint32_t most = larger(1, kTileQueries / plan.tile_heads);
  const uint32_t wanted = plan.rows * p.kv_heads * plan.head_tiles / (kItemsPerThread * call.threads);
  plan.tile_rows = smaller(most, larger(1, wanted));
  return plan;
}

uint32_t items(const CpuCall& call, uint32_t phase) {
  const auto& p = params_of<AttentionParams>(call);
  const uint32_t rows = call.step->rows[p.row_set];
  if (rows == 0) return 0;
  if (phase == 0) return p.has_prepare != 0 ? rows : 0;
  const Plan plan = plan_of(call);
  if (phase == 2) return plan.parts > 0 ? rows * p.heads : 0;
  return (plan.parts > 0 ? rows * plan.parts : divide_up(rows, plan.tile_rows)) * p.kv_heads * plan.head_tiles;
}

/** `head`: room for one head. */
void prepare(const CpuCall& call, uint32_t begin, uint32_t end, float* head) {
  const auto& p = params_of<AttentionParams>(call);
  const uint32_t kv_width = p.kv_heads * p.width;
  for (size_t row = begin; row < end; ++row) {
    const float* table = buffer<const float>(call, 5) + row * p.width;
    const float* q = buffer<const float>(call, 0) + row * p.q_stride;
    float* q_out = reinterpret_cast<float*>(call.scratch) + row * p.heads * p.width;
    for (size_t h = 0; h < p.heads; ++h) {
      norm_row(q + h * p.width, p.width, p.eps, buffer<const void>(call, 4), p.gain_type, q_out + h * p.width);
      rope_head(q_out + h * p.width, table, p.width, q_out + h * p.width);
    }
    if (p.has_kv == 0) continue;

    const auto position = static_cast<uint32_t>(call.step->position[p.row_set][row]);
    const size_t index = cache_table(*call.step, p.row_set, row, p.cache_kind).place(position) * kv_width;
    const float* k = buffer<const float>(call, 6) + row * p.k_stride;
    const float* v = buffer<const float>(call, 7) + row * p.v_stride;
    for (size_t g = 0; g < p.kv_heads; ++g) {
      norm_row(k + g * p.width, p.width, p.eps, buffer<const void>(call, 8), p.gain_type, head);
      rope_head(head, table, p.width, head);
      cache_row(head, p.width, p.cache_type, buffer<void>(call, 1), index + g * p.width);
      norm_row(v + g * p.width, p.width, p.eps, nullptr, p.gain_type, head);
      cache_row(head, p.width, p.cache_type, buffer<void>(call, 2), index + g * p.width);
    }
  }
}

/** Inputs and buffers with which an item builds tiles. */
struct Worker {
  const CpuCall& call;
  const AttentionParams& p;
  const Plan& plan;
  float* memory;  ///< thread-private: tile buffers, then totals, then padded queries

  float* total_acc() const { return memory + tile_floats(p.width); }

  KvHead kv_head(uint32_t row, uint32_t g) const {
    const size_t kv_width = size_t{p.kv_heads} * p.width;
    const CacheTable table = cache_table(*call.step, p.row_set, row, p.cache_kind);
    return {call.buffers[1], call.buffers[2], table, size_t{g} * p.width, kv_width, p.width, plan.padded};
  }

  /** Query heads [first, last) of rows [begin, end) of one sequence. */
  Tile tile(uint32_t begin, uint32_t end, uint32_t first, uint32_t last) const {
    Tile tile = {};
    give_buffers(tile, p.width, memory);
    const bool is_prepared = p.has_prepare != 0;
    const float* q = is_prepared ? reinterpret_cast<const float*>(call.scratch) : buffer<const float>(call, 0);
    const size_t stride = is_prepared ? size_t{p.heads} * p.width : p.q_stride;
    for (uint32_t row = begin; row < end; ++row) {
      const Range range = visible(call, p, row);
      for (uint32_t h = first; h < last; ++h) {
        const float* from = q + row * stride + h * p.width;
        if (plan.padded != p.width) {
          float* to = total_acc() + size_t{kTileQueries + tile.queries} * plan.padded;
          for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(to + i, load(from + i, n)); });
          from = to;
        }
        tile.q[tile.queries] = from;
        tile.low[tile.queries] = range.low;
        tile.high[tile.queries++] = range.high;
      }
    }
    return tile;
  }

  void attend(Tile& tile, const KvHead& head, uint32_t partition) const {
    if (p.cache_type == kScalarF32) {
      attend_partition<kScalarF32>(tile, head, partition);
    } else {
      attend_partition<kScalarBf16>(tile, head, partition);
    }
  }

  void finish(uint32_t row, uint32_t h, const Softmax& total, const float* acc) const {
    float* out = buffer<float>(call, 3) + size_t{row} * p.out_stride + size_t{h} * p.width;
    const F32 factor = splat(1.0f / total.sum);
    for_each_vector(p.width, [&](uint32_t i, uint32_t n) { store(out + i, load(acc + i) * factor, n); });
  }

  /** Rows [begin, end) of one sequence, query heads [first, last) of kv head g, over all positions. */
  void direct(uint32_t begin, uint32_t end, uint32_t g, uint32_t first, uint32_t last) const {
    Tile t = tile(begin, end, first, last);
    const KvHead head = kv_head(begin, g);
    uint32_t low = t.low[0], high = t.high[0];
    for (uint32_t i = 1; i < t.queries; ++i) {
      low = smaller(low, t.low[i]);
      high = larger(high, t.high[i]);
    }
    Softmax total[kTileQueries] = {};
    for (uint32_t part = low / kPartition; part <= (high - 1) / kPartition; ++part) {
      attend(t, head, part);
      for (uint32_t i = 0; i < t.queries; ++i) {
        if (part < t.low[i] / kPartition || part > (t.high[i] - 1) / kPartition) continue;
        fold_partition(total[i], total_acc() + size_t{i} * plan.padded, t.part[i], t.part_acc + size_t{i} * plan.padded, plan.padded,
                       part == t.low[i] / kPartition);
      }
    }
    for (uint32_t i = 0; i < t.queries; ++i) {
      finish(begin + i / (last - first), first + i % (last - first), total[i], total_acc() + size_t{i} * plan.padded);
    }
  }

  float* part_result(uint32_t row, uint32_t h, uint32_t part) const {
    float* results = reinterpret_cast<float*>(call.scratch + plan.part_begin);
    return results + ((size_t{row} * p.heads + h) * plan.parts + part) * plan.part_floats;
  }

  /** One partition of one row, for the query heads [first, last) of kv head g. */
  void split(uint32_t row, uint32_t g, uint32_t first, uint32_t last, uint32_t part) const {
    const Range range = visible(call, p, row);
    if (part >= partitions(range)) return;
    Tile t = tile(row, row + 1, first, last);
    attend(t, kv_head(row, g), range.low / kPartition + part);
    for (uint32_t i = 0; i < t.queries; ++i) {
      float* result = part_result(row, first + i, part);
      result[0] = t.part[i].maximum;
      result[1] = t.part[i].sum;
      __builtin_memcpy(result + kPartHeader, t.part_acc + size_t{i} * plan.padded, plan.padded * sizeof(float));
    }
  }

  void fold_parts(uint32_t row, uint32_t h) const {
    Softmax total = {};
    const uint32_t parts = partitions(visible(call, p, row));
    for (uint32_t part = 0; part < parts; ++part) {
      const float* result = part_result(row, h, part);
      fold_partition(total, total_acc(), {result[0], result[1]}, result + kPartHeader, plan.padded, part == 0);
    }
    finish(row, h, total, total_acc());
  }
};

void attend(const Worker& worker, uint32_t item) {
  const auto& [call, p, plan, memory] = worker;
  const uint32_t head_tile = item % plan.head_tiles;
  const uint32_t g = item / plan.head_tiles % p.kv_heads;
  const uint32_t index = item / plan.head_tiles / p.kv_heads;
  const uint32_t first = g * plan.group_heads + head_tile * plan.tile_heads;
  const uint32_t last = smaller(first + plan.tile_heads, (g + 1) * plan.group_heads);
  if (plan.parts > 0) return worker.split(index / plan.parts, g, first, last, index % plan.parts);

  // Later rows see more positions: they go first, so that no thread is left with a long item at the end.
  const uint32_t tile = divide_up(plan.rows, plan.tile_rows) - 1 - index;
  const uint32_t end = smaller((tile + 1) * plan.tile_rows, plan.rows);
  const int32_t* slot = call.step->slot[p.row_set];
  for (uint32_t row = tile * plan.tile_rows; row < end;) {
    uint32_t next = row + 1;
    while (next < end && slot[next] == slot[row]) ++next;
    worker.direct(row, next, g, first, last);
    row = next;
  }
}

void run(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  const auto& p = params_of<AttentionParams>(call);
  const Plan plan = plan_of(call);
  float* memory = reinterpret_cast<float*>(call.scratch + plan.thread_begin + thread * align_up(plan.thread_floats * sizeof(float)));
  if (phase == 0) return prepare(call, begin, end, memory);
  const Worker worker = {call, p, plan, memory};
  for (uint32_t item = begin; item < end; ++item) {
    if (phase == 1) {
      attend(worker, item);
    } else {
      worker.fold_parts(item / p.heads, item % p.heads);
    }
  }
}

}  // namespace

const CpuKernel kAttention = {"attention", 3, items, run, scratch_bytes};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
