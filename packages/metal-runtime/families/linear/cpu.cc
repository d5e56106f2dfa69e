/**
 * linear: y_i = x W_i^T for the same rows and up to three weights, with an optional prologue and epilogue.
 *
 * Phase 0, one item per row: h = (residual + rms_norm(x) * residual_gain) * residual_scale; rms_norm with norm_gain; the
 * clamped rows of weights with a clip; the forms of the row that the matrix core takes. A single row is instead prepared by every thread
 * for itself, which costs less than a barrier and a transfer between the caches of two cores. Phase 1, one item per block of weight rows:
 * the products for all rows of the step, and the epilogue. Products are float32 sums in an order that the core fixes; the other steps call
 * the functions of the plain kernels, so that a fused command gives the same bits.
 */
#include "linear_params.h"

#include "call.h"
#include "kernel_list.h"
#include "rows.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {
namespace {

constexpr uint32_t kMaxWeights = 3;
constexpr uint32_t kFirstWeight = 6;  ///< binding index of the first weight

WeightView weight_of(const LinearParams& p, uint32_t index, void* const* buffers) {
  const LinearWeightParams& w = p.weight[index];
  const auto at = [&](uint32_t i) { return buffers == nullptr ? nullptr : buffers[kFirstWeight + 3 * index + i]; };
  return {static_cast<WeightFormat>(w.format), w.bits, w.group, static_cast<ScalarType>(w.scale_type), w.out, p.in, at(0), at(1), at(2)};
}

/** Layout of the scratch memory of a call with `rows` rows. */
struct Layout {
  RowForm form[kMaxWeights];     ///< form of the rows, per weight
  size_t prepared[kMaxWeights];  ///< offset of the rows in that form; weights of one form share them
  size_t own[kMaxWeights];       ///< the same in a thread's private memory, for a single row
  bool is_shared[kMaxWeights];   ///< an earlier weight has the same form and bounds
  size_t thread_begin;           ///< offset of the first thread's scratch
  size_t thread_bytes;
  size_t clipped;  ///< offsets in a thread's scratch: a clamped row ...
  size_t own_h;    ///< ... its own h and prepared forms of a single row ...
  size_t own_prepared;
  size_t tile;   ///< ... the gate tile of geglu ...
  size_t core;   ///< ... and the scratch of the core; a row of floats is at 0
  size_t bytes;  ///< total size
};

/** Maximum number of weight rows per item. */
constexpr uint32_t kMaxBlock = 64;

/** Minimum number of weight rows per item; twice as many for many rows, where the core works on tiles of 32. */
constexpr uint32_t kMinBlock = 16;

/** True when two weights take the same rows. */
bool has_same_input(const LinearWeightParams& a, const LinearWeightParams& b) {
  if (a.has_clip == 0 && b.has_clip == 0) return true;
  return a.has_clip == b.has_clip && a.input_low == b.input_low && a.input_high == b.input_high;
}

Layout layout_of(const LinearParams& p, uint32_t rows, uint32_t threads) {
  const LinearCore& core = linear_core(kIsa);
  Layout layout = {};
  size_t core_bytes = 0;
  size_t row_bytes = 0;
  for (uint32_t i = 0; i < p.weights; ++i) {
    const WeightView weight = weight_of(p, i, nullptr);
    layout.form[i] = core.row_form(weight, p.is_fast != 0, p.has_few_rows != 0);
    layout.prepared[i] = layout.bytes;
    layout.own[i] = row_bytes;
    for (uint32_t j = 0; j < i; ++j) {
      if (layout.form[j] != layout.form[i] || !has_same_input(p.weight[j], p.weight[i])) continue;
      layout.prepared[i] = layout.prepared[j];
      layout.own[i] = layout.own[j];
      layout.is_shared[i] = true;
    }
    if (!layout.is_shared[i]) {
      layout.bytes += align_up(rows * core.prepared_row_bytes(layout.form[i], p.in));
      row_bytes += align_up(core.prepared_row_bytes(layout.form[i], p.in));
    }
    const size_t wanted = core.scratch_bytes(weight, layout.form[i], rows);
    if (wanted > core_bytes) core_bytes = wanted;
  }
  layout.clipped = align_up(p.in * sizeof(float));
  layout.own_h = layout.clipped + align_up(p.in * sizeof(float));
  layout.own_prepared = layout.own_h + align_up(p.in * sizeof(float));
  layout.tile = layout.own_prepared + row_bytes;
  layout.core = layout.tile + (p.epilogue == kLinearGeglu ? align_up(size_t{rows} * kMaxBlock * sizeof(float)) : 0);
  layout.thread_bytes = layout.core + align_up(core_bytes);
  layout.thread_begin = layout.bytes;
  layout.bytes += threads * layout.thread_bytes;
  return layout;
}

std::byte* thread_scratch(const CpuCall& call, const Layout& layout, uint32_t thread) {
  return call.scratch + layout.thread_begin + thread * layout.thread_bytes;
}

size_t scratch_bytes(const void* params, uint32_t max_rows, uint32_t threads) {
  return layout_of(*static_cast<const LinearParams*>(params), max_rows, threads).bytes;
}

/** Number of weights that are multiplied separately; geglu takes its two together. */
uint32_t passes(const LinearParams& p) { return p.epilogue == kLinearGeglu ? 1 : p.weights; }

/** Weight rows per item: small enough that every thread gets several, large enough to amortise an item. */
uint32_t block_of(const LinearParams& p, uint32_t threads) {
  uint32_t out = 0;
  for (uint32_t i = 0; i < passes(p); ++i) out += p.weight[i].out;
  const uint32_t least = p.has_few_rows != 0 ? kMinBlock : 2 * kMinBlock;
  uint32_t block = kMaxBlock;
  while (block > least && out / block < 12 * threads) block /= 2;
  return block;
}

uint32_t items(const CpuCall& call, uint32_t phase) {
  const auto& p = params_of<LinearParams>(call);
  const uint32_t rows = call.step->rows[p.row_set];
  if (rows == 0) return 0;
  if (phase == 0) return rows == 1 ? 0 : rows;
  const uint32_t block = block_of(p, call.threads);
  uint32_t count = 0;
  for (uint32_t i = 0; i < passes(p); ++i) count += divide_up(p.weight[i].out, block);
  return count;
}

/**
 * Prepares one row: h (when there is a residual) goes to `h`, the row in the form of weight i to `prepared[i]`.
 * `normalised`, `clipped`: buffers of one row.
 */
void prepare_row(const CpuCall& call,
                 const Layout& layout,
                 size_t row,
                 float* h,
                 float* normalised,
                 float* clipped,
                 std::byte* const (&prepared)[kMaxWeights]) {
  const auto& p = params_of<LinearParams>(call);
  const LinearCore& core = linear_core(kIsa);
  const size_t from = p.gathers != 0 ? static_cast<size_t>(call.step->output_row[row]) : row;
  const float* x = buffer<const float>(call, 0) + from * p.x_stride;
  if (p.has_residual != 0) {
    norm_add_row(x, p.in, p.eps, buffer<const void>(call, 2), p.residual_gain_type, buffer<const float>(call, 1) + from * p.residual_stride,
                 p.residual_scale, h);
    x = h;
  }
  if (p.has_norm != 0) {
    norm_row(x, p.in, p.eps, buffer<const void>(call, 4), p.norm_gain_type, normalised);
    x = normalised;
  }
  for (uint32_t i = 0; i < p.weights; ++i) {
    if (layout.is_shared[i]) continue;
    const LinearWeightParams& w = p.weight[i];
    if (w.has_clip != 0) clamp_row(x, p.in, w.input_low, w.input_high, clipped);
    core.prepare_row(layout.form[i], p.in, w.has_clip != 0 ? clipped : x, prepared[i]);
  }
}

/** Phase 0: rows [begin, end), for all threads. */
void prepare(const CpuCall& call, uint32_t begin, uint32_t end, uint32_t thread) {
  const auto& p = params_of<LinearParams>(call);
  const LinearCore& core = linear_core(kIsa);
  const Layout layout = layout_of(p, call.step->rows[p.row_set], call.threads);
  std::byte* const own = thread_scratch(call, layout, thread);
  float* normalised = reinterpret_cast<float*>(own);
  float* clipped = reinterpret_cast<float*>(own + layout.clipped);
  for (size_t row = begin; row < end; ++row) {
    std::byte* prepared[kMaxWeights] = {};
    for (uint32_t i = 0; i < p.weights; ++i) {
      prepared[i] = call.scratch + layout.prepared[i] + row * core.prepared_row_bytes(layout.form[i], p.in);
    }
    float* h = p.has_residual != 0 ? buffer<float>(call, 3) + row * p.h_stride : nullptr;
    prepare_row(call, layout, row, h, normalised, clipped, prepared);
  }
}

/** Before a thread's first item of phase 1: its own copy of a single row. */
void enter(const CpuCall& call, uint32_t phase, uint32_t thread) {
  const auto& p = params_of<LinearParams>(call);
  if (phase == 0 || call.step->rows[p.row_set] != 1) return;
  const Layout layout = layout_of(p, 1, call.threads);
  std::byte* const own = thread_scratch(call, layout, thread);
  std::byte* prepared[kMaxWeights] = {};
  for (uint32_t i = 0; i < p.weights; ++i) prepared[i] = own + layout.own_prepared + layout.own[i];
  prepare_row(call, layout, 0, reinterpret_cast<float*>(own + layout.own_h), reinterpret_cast<float*>(own),
              reinterpret_cast<float*>(own + layout.clipped), prepared);
}

void multiply(const CpuCall& call, uint32_t begin, uint32_t end, uint32_t thread) {
  const auto& p = params_of<LinearParams>(call);
  const LinearCore& core = linear_core(kIsa);
  const uint32_t rows = call.step->rows[p.row_set];
  const Layout layout = layout_of(p, rows, call.threads);
  const uint32_t block = block_of(p, call.threads);
  std::byte* const own = thread_scratch(call, layout, thread);
  const auto product = [&](uint32_t weight, uint32_t first, uint32_t last, float* y, size_t y_stride) {
    const std::byte* prepared = rows == 1 ? own + layout.own_prepared + layout.own[weight] : call.scratch + layout.prepared[weight];
    core.multiply(weight_of(p, weight, call.buffers), layout.form[weight], prepared, rows, first, last, y, y_stride, own + layout.core);
    const LinearWeightParams& w = p.weight[weight];
    for (size_t r = 0; w.has_clip != 0 && r < rows; ++r) {
      clamp_row(y + r * y_stride, last - first, w.output_low, w.output_high, y + r * y_stride);
    }
  };
  // Every thread has the same h of a single row; the one with the first item stores it for the commands that follow.
  if (rows == 1 && begin == 0 && p.has_residual != 0) {
    __builtin_memcpy(buffer<float>(call, 3), own + layout.own_h, p.in * sizeof(float));
  }

  for (uint32_t item = begin; item < end; ++item) {
    uint32_t weight = 0, index = item;
    for (; index >= divide_up(p.weight[weight].out, block); ++weight) index -= divide_up(p.weight[weight].out, block);
    const uint32_t first = index * block;
    const uint32_t last = smaller(first + block, p.weight[weight].out);
    const uint32_t width = last - first;
    const size_t y_stride = p.weight[weight].y_stride;
    float* y = buffer<float>(call, kFirstWeight + 3 * p.weights + weight) + first;

    if (p.epilogue == kLinearGeglu) {
      float* gate = reinterpret_cast<float*>(own + layout.tile);
      product(0, first, last, gate, kMaxBlock);
      product(1, first, last, y, y_stride);
      for (size_t r = 0; r < rows; ++r) geglu_row(gate + r * kMaxBlock, y + r * y_stride, width, y + r * y_stride);
      continue;
    }
    product(weight, first, last, y, y_stride);
    if (p.epilogue == kLinearGegluMul) {
      const float* operand = buffer<const float>(call, 5) + first;
      for (size_t r = 0; r < rows; ++r) {
        geglu_row(y + r * y_stride, operand + r * p.operand_stride, width, y + r * y_stride);
      }
    } else if (p.epilogue == kLinearSoftcap) {
      for (size_t r = 0; r < rows; ++r) softcap_row(y + r * y_stride, width, p.cap, y + r * y_stride);
    }
  }
}

void run(const CpuCall& call, uint32_t phase, uint32_t begin, uint32_t end, uint32_t thread) {
  return phase == 0 ? prepare(call, begin, end, thread) : multiply(call, begin, end, thread);
}

}  // namespace

const CpuKernel kLinear = {"linear", 2, items, run, scratch_bytes, enter};

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
