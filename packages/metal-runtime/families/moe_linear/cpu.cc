/**
 * moe_linear: products of every row with the matrices of the experts that it chose, with an optional prologue and epilogue.
 *
 * Phase 0, one item per row: routing, rms_norm, conversion to the form that the matrix core takes. Phase 1, one item: sorts the choices of
 * the rows by expert. Phase 2, one item per choice: copies rows of the same expert next to each other. Phase 3: the products, expert by
 * expert, so that a weight is read once for all rows of its expert, and not at all when there are none. An item of phase 3 is a block of
 * weight rows of one expert; when combining, it is a block of the output for all experts, so that their sum needs no intermediate memory.
 * Sums are those of the core and of the plain kernels: the bits of a row do not depend on the other rows.
 */
#include "moe_linear_params.h"

#include "call.h"
#include "moe_route/cpu_rows.h"
#include "kernel_list.h"
#include "cpu_groups.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

constexpr uint32_t kFirstWeight = 6;  ///< binding index of the first weight
constexpr uint32_t kMaxBlock = 64;    ///< maximum weight rows of an item
constexpr uint32_t kManyBlock = 32;   ///< ... when the outputs of many rows are added up: they stay in the cache
constexpr uint32_t kFewRows = 8;      ///< up to here memory bandwidth is the limit, and weights are read in file order
constexpr size_t kAhead = 8192;       ///< few rows: bytes of a run of weights to prefetch here
constexpr size_t kTileBytes = 512;    ///< many rows: the core reads this many bytes of ...
constexpr uint32_t kTileRows = 32;    ///< ... this many rows first

WeightView weight_of(const MoeLinearParams& p, uint32_t index, void* const* buffers) {
  const MoeLinearWeightParams& w = p.weight[index];
  const auto at = [&](uint32_t i) { return buffers == nullptr ? nullptr : buffers[kFirstWeight + 3 * index + i]; };
  return {static_cast<WeightFormat>(w.format),
          w.bits,
          w.group,
          static_cast<ScalarType>(w.scale_type),
          p.experts * w.rows_per_expert,
          p.in,
          at(0),
          at(1),
          at(2)};
}

/** The arguments of the equivalent moe_route call. */
MoeRouteParams routing_of(const MoeLinearParams& p) {
  return {p.row_set, p.experts, p.top_k, p.logits_stride, p.experts_stride, p.shares_stride, p.scale_type, p.logit_scale};
}

/**
 * Prefetches the beginning of weight rows first .. first + count, up to where the core's own prefetches take effect. Runs of weights are
 * scattered, which defeats hardware prefetchers.
 */
void fetch_rows(const WeightView& weight, uint32_t first, uint32_t count, bool is_tiled) {
  const size_t bits = is_quantized(weight.format) ? weight.bits : weight.format == kWeightF32 ? 32 : 16;
  const size_t row_bytes = weight.in * bits / 8;
  const char* address = static_cast<const char*>(weight.weight) + first * row_bytes;
  const size_t run = is_tiled && row_bytes > kTileBytes ? kTileBytes : row_bytes;
  const uint32_t rows = is_tiled ? smaller(count, kTileRows) : smaller(count, static_cast<uint32_t>(kAhead / row_bytes) + 1);
  for (uint32_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < run; i += 64) __builtin_prefetch(address + row * row_bytes + i, 0, 2);
  }
}

/** Layout of the scratch memory of a call with `rows` rows. */
struct Layout {
  RowForm form[2];     ///< form of the rows, per weight
  bool has_two_forms;  ///< the second weight takes other rows than the first
  size_t prepared[2];  ///< offset of the rows in that form, when all experts of a row share it
  size_t sorted[2];    ///< offset of the rows of all choices, in sorted order
  size_t groups;       ///< offset of the ExpertGroups
  size_t thread_begin;
  size_t thread_bytes;
  size_t core;  ///< offset of the core's scratch in a thread's memory; tiles, or a row of floats, are at 0
  size_t bytes;

  uint32_t forms() const { return has_two_forms ? 2 : 1; }
};

Layout layout_of(const MoeLinearParams& p, uint32_t rows, uint32_t threads) {
  const LinearCore& core = linear_core(kIsa);
  const uint32_t choices = rows * p.top_k;
  Layout layout = {};
  size_t core_bytes = 0;
  for (uint32_t i = 0; i < p.weights; ++i) {
    const WeightView weight = weight_of(p, i, nullptr);
    // An expert is multiplied only with its own rows, which are few; only the 8-bit products have tiles for that.
    const bool has_few_rows = p.has_few_rows != 0 || !is_quantized(weight.format) || weight.format == kWeightMxfp8;
    layout.form[i] = core.row_form(weight, p.is_fast != 0, has_few_rows);
    layout.has_two_forms = i == 1 && layout.form[0] != layout.form[1];
    const size_t wanted = core.scratch_bytes(weight, layout.form[i], rows);
    if (wanted > core_bytes) core_bytes = wanted;
    if (i == 1 && !layout.has_two_forms) {
      layout.prepared[1] = layout.prepared[0];
      layout.sorted[1] = layout.sorted[0];
      continue;
    }
    const size_t row_bytes = core.prepared_row_bytes(layout.form[i], p.in);
    layout.prepared[i] = layout.bytes;
    if (p.has_slices == 0) layout.bytes += align_up(rows * row_bytes);
    layout.sorted[i] = layout.bytes;
    layout.bytes += align_up(choices * row_bytes);
  }
  layout.groups = layout.bytes;
  layout.bytes += align_up(ExpertGroups::bytes(p.experts, choices));
  const size_t tile_rows = p.epilogue == kMoeLinearCombine ? choices : rows * p.weights;
  const size_t tile = tile_rows * kMaxBlock;
  layout.core = align_up((tile > p.in ? tile : p.in) * sizeof(float));
  layout.thread_begin = layout.bytes;
  layout.thread_bytes = layout.core + align_up(core_bytes);
  layout.bytes += threads * layout.thread_bytes;
  return layout;
}

size_t scratch_bytes(const void* params, uint32_t max_rows, uint32_t threads) {
  return layout_of(*static_cast<const MoeLinearParams*>(params), max_rows, threads).bytes;
}

/** State of a call. */
struct Call {
  const CpuCall& call;
  const MoeLinearParams& p;
  const uint32_t rows;
  const Layout layout;
  const ExpertGroups groups;

  explicit Call(const CpuCall& c)
      : call(c),
        p(params_of<MoeLinearParams>(c)),
        rows(c.step->rows[p.row_set]),
        layout(layout_of(p, rows, c.threads)),
        groups(ExpertGroups::at(c.scratch + layout.groups, p.experts, rows * p.top_k)) {}

  uint32_t choices() const { return rows * p.top_k; }
  std::byte* thread_scratch(uint32_t thread) const { return call.scratch + layout.thread_begin + thread * layout.thread_bytes; }
  const float* shares_of(uint32_t row) const { return buffer<float>(call, 5) + size_t{row} * p.shares_stride; }

  /** Weight rows per item: small enough that every thread gets several, large enough to amortise an item. */
  uint32_t block() const {
    const bool is_combining = p.epilogue == kMoeLinearCombine;
    const size_t out = is_combining ? p.out : size_t{p.out} * groups.active_count();
    uint32_t block = is_combining && rows > kFewRows ? kManyBlock : kMaxBlock;
    while (block > 16 && out / block < 12 * call.threads) block /= 2;
    return block;
  }

  /** Prepared rows of an expert, contiguous. */
  const std::byte* rows_of(uint32_t expert, uint32_t weight) const {
    const size_t row_bytes = linear_core(kIsa).prepared_row_bytes(layout.form[weight], p.in);
    const uint32_t place = groups.begin[expert];
    if (p.has_slices == 0 && groups.rows_of(expert) == 1) {
      return call.scratch + layout.prepared[weight] + groups.choice[place] / p.top_k * row_bytes;
    }
    return call.scratch + layout.sorted[weight] + place * row_bytes;
  }

  /** Index in the stored matrix of row `row` of an expert. */
  uint32_t stored_row(uint32_t weight, uint32_t expert, uint32_t row) const {
    return expert * p.weight[weight].rows_per_expert + p.weight[weight].first_row + row;
  }

  /** Prefetches what `product` reads first. */
  void fetch(uint32_t weight, uint32_t expert, uint32_t first, uint32_t width) const {
    fetch_rows(weight_of(p, weight, call.buffers), stored_row(weight, expert, first), width, rows > kFewRows);
  }

  /** y[r][n] for the rows of an expert and its outputs first .. first + width. */
  void product(uint32_t weight, uint32_t expert, uint32_t first, uint32_t width, float* y, size_t y_stride, uint32_t thread) const {
    const uint32_t begin = stored_row(weight, expert, first);
    linear_core(kIsa).multiply(weight_of(p, weight, call.buffers), layout.form[weight], rows_of(expert, weight), groups.rows_of(expert),
                               begin, begin + width, y, y_stride, thread_scratch(thread) + layout.core);
  }
};

/** Prepares one row in every form that the weights take, at `index` of the arrays that begin at `offsets`. */
void prepare_row(const Call& c, const float* x, const size_t (&offsets)[2], size_t index) {
  const LinearCore& core = linear_core(kIsa);
  for (uint32_t i = 0; i < c.layout.forms(); ++i) {
    const size_t row_bytes = core.prepared_row_bytes(c.layout.form[i], c.p.in);
    core.prepare_row(c.layout.form[i], c.p.in, x, c.call.scratch + offsets[i] + index * row_bytes);
  }
}

void prepare(const Call& c, uint32_t begin, uint32_t end, uint32_t thread) {
  const MoeLinearParams& p = c.p;
  auto* normalised = reinterpret_cast<float*>(c.thread_scratch(thread));
  for (size_t row = begin; row < end; ++row) {
    if (p.has_routing != 0) {
      route_row(routing_of(p), buffer<const float>(c.call, 2) + row * p.logits_stride, buffer<const void>(c.call, 3),
                buffer<float>(c.call, 4) + row * p.experts_stride, buffer<float>(c.call, 5) + row * p.shares_stride);
    }
    if (p.has_slices != 0) continue;
    const float* x = buffer<const float>(c.call, 0) + row * p.x_stride;
    if (p.has_norm != 0) {
      norm_row(x, p.in, p.eps, buffer<const void>(c.call, 1), p.norm_gain_type, normalised);
      x = normalised;
    }
    prepare_row(c, x, c.layout.prepared, row);
  }
}

/** Copies the rows of choices begin .. end to their sorted positions. */
void gather(const Call& c, uint32_t begin, uint32_t end) {
  const MoeLinearParams& p = c.p;
  for (uint32_t choice = begin; choice < end; ++choice) {
    const uint32_t row = choice / p.top_k, place = c.groups.place[choice];
    if (p.has_slices != 0) {
      const float* x = buffer<const float>(c.call, 0) + size_t{row} * p.x_stride;
      prepare_row(c, x + size_t{choice % p.top_k} * p.in, c.layout.sorted, place);
      continue;
    }
    const float expert = buffer<const float>(c.call, 4)[size_t{row} * p.experts_stride + choice % p.top_k];
    if (c.groups.rows_of(static_cast<uint32_t>(expert)) == 1) continue;
    for (uint32_t i = 0; i < c.layout.forms(); ++i) {
      const size_t row_bytes = linear_core(kIsa).prepared_row_bytes(c.layout.form[i], p.in);
      __builtin_memcpy(c.call.scratch + c.layout.sorted[i] + place * row_bytes, c.call.scratch + c.layout.prepared[i] + row * row_bytes,
                       row_bytes);
    }
  }
}

/**
 * Outputs first .. first + width of one expert for its rows, stored or through geglu. The weights that follow the previous block have
 * already been prefetched; `is_elsewhere` means that these do not follow it.
 */
void multiply_block(const Call& c, uint32_t expert, uint32_t first, uint32_t width, bool is_elsewhere, uint32_t thread) {
  const MoeLinearParams& p = c.p;
  const uint32_t rows = c.groups.rows_of(expert);
  auto* tile = reinterpret_cast<float*>(c.thread_scratch(thread));
  float* up = tile + size_t{rows} * kMaxBlock;
  const bool is_geglu = p.epilogue == kMoeLinearGeglu;
  if (is_elsewhere) {
    for (uint32_t i = 0; i < p.weights; ++i) c.fetch(i, expert, first, width);
  }
  c.product(0, expert, first, width, tile, kMaxBlock, thread);
  if (is_geglu) c.product(1, expert, first, width, up, kMaxBlock, thread);
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t choice = c.groups.choice[c.groups.begin[expert] + r];
    float* y = buffer<float>(c.call, kFirstWeight + 3 * p.weights) + size_t{choice / p.top_k} * p.y_stride +
               size_t{choice % p.top_k} * p.out + first;
    const float* product = tile + size_t{r} * kMaxBlock;
    if (is_geglu) {
      geglu_row(product, up + size_t{r} * kMaxBlock, width, y);
    } else {
      __builtin_memcpy(y, product, width * sizeof(float));
    }
  }
}

/** Outputs first .. first + width of all rows, added up over their experts; `is_elsewhere` as above. */
void combine_block(const Call& c, uint32_t first, uint32_t width, bool is_elsewhere, uint32_t thread) {
  const MoeLinearParams& p = c.p;
  const uint32_t active = c.groups.active_count();
  auto* tile = reinterpret_cast<float*>(c.thread_scratch(thread));
  for (uint32_t i = 0; i < active; ++i) {
    if (is_elsewhere && i + 1 < active) c.fetch(0, c.groups.active[i + 1], first, width);
    const uint32_t expert = c.groups.active[i];
    c.product(0, expert, first, width, tile + size_t{c.groups.begin[expert]} * width, width, thread);
  }
  for (uint32_t row = 0; row < c.rows; ++row) {
    float* y = buffer<float>(c.call, kFirstWeight + 3) + size_t{row} * p.y_stride + first;
    const uint32_t* place = c.groups.place + size_t{row} * p.top_k;
    combine_row(c.shares_of(row), p.top_k, width, y, [&](uint32_t x) { return tile + size_t{place[x]} * width; });
  }
}

void multiply(const Call& c, uint32_t begin, uint32_t end, uint32_t thread) {
  const uint32_t out = c.p.out, block = c.block();
  const uint32_t blocks = divide_up(out, block), active = c.groups.active_count();
  const bool is_few = c.rows <= kFewRows;
  for (uint32_t item = begin; item < end; ++item) {
    if (c.p.epilogue == kMoeLinearCombine) {
      combine_block(c, item * block, smaller(block, out - item * block), !is_few || item == begin, thread);
      continue;
    }
    // Few rows: an expert's weights in order. Many rows: each chunk of items includes a share of every expert, however unevenly the rows
    // are spread.
    const uint32_t expert = c.groups.active[is_few ? item / blocks : item % active];
    const uint32_t first = (is_few ? item % blocks : item / active) * block;
    const bool is_elsewhere = !is_few || item == begin || first == 0;
    multiply_block(c, expert, first, smaller(block, out - first), is_elsewhere, thread);
  }
}

uint32_t items(const CpuCall& call, uint32_t phase) {
  const auto& p = params_of<MoeLinearParams>(call);
  const uint32_t rows = call.step->rows[p.row_set];
  if (rows == 0) return 0;
  if (phase == 0) return p.has_routing != 0 || p.has_slices == 0 ? rows : 0;
  if (phase == 1) return 1;
  // The choices of a single row go to different experts: there is nothing to group.
  if (phase == 2) return p.has_slices != 0 || rows > 1 ? rows * p.top_k : 0;
  const Call c(call);
  const uint32_t blocks = divide_up(p.out, c.block());
  return p.epilogue == kMoeLinearCombine ? blocks : blocks * c.groups.active_count();
}

void run(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  const Call c(call);
  if (phase == 0) return prepare(c, begin, end, thread);
  if (phase == 2) return gather(c, begin, end);
  if (phase == 3) return multiply(c, begin, end, thread);
  sort_by_expert(buffer<const float>(call, 4), c.p.experts_stride, c.rows, c.p.top_k, c.p.experts, c.groups);
}

}  // namespace

const CpuKernel kMoeLinear = {"moe_linear", 4, items, run, scratch_bytes};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
