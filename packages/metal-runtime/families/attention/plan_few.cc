#include "plan_few.h"

#include <algorithm>
#include <string>

#include "cache_block.h"
#include "plan_spans.h"
#include "scalar_type.h"

namespace markbase::gpu {

namespace {

/** See attention_few_nvidia.h. */
constexpr uint32_t kFewChunk = 32;
static_assert(MARKBASE_BLOCK_TOKENS % kFewChunk == 0, "attention_few finds one place for a chunk");
constexpr uint32_t kDirectSpans = 17;
constexpr uint32_t kDirectChunks = 4;
constexpr uint32_t kMostFewSpans = 128;
constexpr uint32_t kFewHeads = 8;

/** Threadgroups of a row with a long context: one per multiprocessor of the largest GPUs; registers do not suffice for more. */
constexpr uint32_t kRowGroups = 132;

/** Up to this many rows are divided into as many spans as a single row. */
constexpr uint32_t kMostSplitRows = 16;

/** Columns of values that a simdgroup sums, and columns of a folding threadgroup. */
constexpr uint32_t kValueColumns = 64;
constexpr uint32_t kFoldColumns = 128;

/** Maximum number of output rows of a step that are treated as few in a program of many rows. */
constexpr uint32_t kMostOutputRows = 64;

/** Maximum scratch memory for the results of spans. */
constexpr size_t kMostSpanBytes = size_t{128} << 20;

uint32_t head_tiles(const AttentionParams& p) { return p.kv_heads * divide_up(p.heads / p.kv_heads, kFewHeads); }

/** Rows of the widest step of the program. */
uint32_t most_rows(const CommandContext& context, const AttentionParams& p) {
  return divide_up(static_cast<uint32_t>(context.command.bindings[kAttentionOutput].size_bytes / sizeof(float)), p.out_stride);
}

/**
 * Spans of a row with a long context: enough threadgroups for any GPU; fewer in wide programs, where each row adds threadgroups. Many rows
 * are only divided as far as they do not fill the GPU.
 */
uint32_t spans_of_long(const CommandContext& context, const AttentionParams& p) {
  if (context.rows() > kMostSplitRows) {
    return std::clamp(divide_up(context.traits.multiprocessors, context.rows() * head_tiles(p)), 1u, kDirectSpans);
  }
  uint32_t spans = std::clamp(kRowGroups / head_tiles(p), kDirectSpans, kMostFewSpans);
  const size_t span_bytes = size_t{most_rows(context, p)} * p.heads * p.width * sizeof(float);
  while (spans > kDirectSpans && spans * span_bytes > kMostSpanBytes) spans = std::max(spans / 2, kDirectSpans);
  return spans;
}

/** Maximum number of spans of a row of a step. */
uint32_t most_places(const AttentionParams& p, const StepShape& shape, uint32_t spans_of_long) {
  uint32_t chunks = divide_up(shape.positions + shape.lookahead, kFewChunk);
  // A window that is not aligned touches one chunk more than it fills.
  if (p.window != 0) chunks = std::min(chunks, divide_up(p.window + shape.lookahead, kFewChunk) + 1);
  return std::min(chunks, chunks <= kDirectSpans * kDirectChunks ? std::min(kDirectSpans, spans_of_long) : spans_of_long);
}

void bind_positions(const AttentionParams& p, DispatchBuilder* dispatch) {
  dispatch->step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch->step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
}

}  // namespace

bool runs_attention_few(const CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0) return false;
  const uint32_t rows = most_rows(context, p);
  // A step of many rows has few output rows.
  if (p.has_few_rows == 0 && (p.row_set != kOutputRows || context.rows() > kMostOutputRows)) return false;
  if ((p.width != 256 && p.width != 512) || p.cache_type != kScalarBf16) return false;
  if (p.has_prepare != 0 && p.gain_type != kScalarBf16) return false;
  if (!is_aligned(context, 1) || !is_aligned(context, 2) || !is_aligned(context, kAttentionOutput) || p.out_stride % 4 != 0) {
    // Reached only by operands of unusual alignment, which the recorder does not make.
    return false;
  }
  return size_t{rows} * head_tiles(p) * sizeof(uint32_t) <= kCounterBytes;
}

bool prepares_by_lanes(const CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0 || p.has_prepare == 0) return false;
  if ((p.width != 256 && p.width != 512) || p.cache_type != kScalarBf16 || p.gain_type != kScalarBf16) return false;
  return is_aligned(context, 1) && is_aligned(context, 2);
}

void plan_attention_prepare(CommandContext& context, size_t prepared, size_t prepared_bytes) {
  const auto& p = context.params<AttentionParams>();
  DispatchBuilder dispatch(context, "attention_few", "attention_few_prepare_k" + std::to_string(p.width));
  dispatch.operands(0, 3).operands(4, 9);
  dispatch.scratch(kScratchArgument + 1, prepared, prepared_bytes, true);
  bind_positions(p, &dispatch);
  dispatch.grid(p.heads + (p.has_kv != 0 ? 2 * p.kv_heads : 0), context.rows(), 1, kLanes);
}

void plan_attention_few(CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  const uint32_t rows = context.rows();
  const std::string width = std::to_string(p.width);
  const bool prepares = p.has_prepare != 0, prepares_first = prepares && rows > 1;
  const size_t prepared_bytes = size_t{rows} * p.heads * p.width * sizeof(float);
  const size_t prepared = prepares_first ? context.scratch.take(prepared_bytes) : 0;
  if (prepares_first) plan_attention_prepare(context, prepared, prepared_bytes);
  const uint32_t spans = spans_of_long(context, p), places = most_places(p, context.shape, spans);
  const size_t span_bytes = size_t{rows} * p.heads * places * (p.width + kSpanHeader) * sizeof(float);
  const size_t results = context.scratch.take(span_bytes);
  const bool folds = places <= kDirectSpans;
  {
    const bool is_own = prepares && !prepares_first;
    DispatchBuilder dispatch(context, "attention_few", std::string("attention_few_") + (is_own ? "own_k" : "k") + width);
    if (prepares_first) {
      dispatch.scratch(kFirstOperand, prepared, prepared_bytes, false);
    } else {
      dispatch.operand(0);
    }
    dispatch.operands(1, 3);
    if (folds) dispatch.operand(kAttentionOutput);
    else dispatch.nothing(kFirstOperand + kAttentionOutput);
    for (uint32_t operand = 4; operand < 9; ++operand) {
      if (is_own) dispatch.operand(operand);
      else dispatch.nothing(kFirstOperand + operand);
    }
    dispatch.scratch(kScratchArgument, results, span_bytes, true);
    if (folds) dispatch.scratch(kScratchArgument + 1, 0, kCounterBytes, true);
    else dispatch.nothing(kScratchArgument + 1);
    bind_positions(p, &dispatch);
    dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
    dispatch.launch().x_stride = prepares_first ? p.heads * p.width : p.q_stride;
    dispatch.launch().parts = spans;
    dispatch.launch().is_split = places;
    dispatch.grid(places, head_tiles(p), rows, p.width / kValueColumns * kLanes);
  }
  if (folds) return;
  DispatchBuilder dispatch(context, "attention_few", "attention_few_fold");
  dispatch.operand(kAttentionOutput).scratch(kScratchArgument, results, span_bytes, false);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.launch().parts = spans;
  dispatch.launch().is_split = places;
  dispatch.grid(p.width / kFoldColumns, p.heads, rows, kFoldColumns);
}

}  // namespace markbase::gpu
