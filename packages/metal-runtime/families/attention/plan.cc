#include <algorithm>

#include "attention_params.h"
#include "scalar_type.h"

#include "plan_few.h"
#include "plan_spans.h"
#include "plan_tile.h"
#include "plan_wide.h"
#include "step_planner.h"

namespace markbase::gpu {

namespace {

/** Positions of a partition; kPartition of metal_attention.h. */
constexpr uint32_t kPartition = 256;

/** Maximum number of partitions that one threadgroup processes alone: below this, folding would cost more. */
constexpr uint32_t kMostDirectParts = 4;

/** Number of threadgroups that keeps any GPU busy; beyond it, splitting positions gains nothing. */
constexpr uint32_t kEnoughGroups = 512;

/** Up to this many rows, the kernels for single rows are faster even in programs of many rows. */
constexpr uint32_t kFewRows = 8;

/** Maximum scratch memory for the results of spans. */
constexpr size_t kMaxSplitBytes = size_t{64} << 20;

/** Partitions of the row with the longest context. */
uint32_t most_parts(const AttentionParams& p, const StepShape& shape) {
  const uint32_t parts = divide_up(shape.positions + shape.lookahead, kPartition);
  if (p.window == 0) return parts;
  // A window that is not aligned touches one partition more than it fills.
  const uint32_t window = divide_up(p.window + shape.lookahead, kPartition) + 1;
  return window < parts ? window : parts;
}

/** Number of query heads with the same keys that a threadgroup of attention.metal takes together. */
uint32_t heads_of_group(const AttentionParams& p, uint32_t rows) {
  const uint32_t group_heads = p.heads / p.kv_heads, most_heads = p.width > 256 ? 2 : 4;
  uint32_t heads = group_heads >= most_heads ? most_heads : group_heads >= 2 ? 2 : 1;
  // With few threadgroups, reading the same keys in several of them is better than idle cores.
  while (heads > 1 && rows * p.kv_heads * divide_up(group_heads, heads) < 8) heads /= 2;
  return heads;
}

/** Threadgroups of a row that is not split. */
uint32_t groups_of_row(const AttentionParams& p, uint32_t rows) {
  return p.kv_heads * divide_up(p.heads / p.kv_heads, heads_of_group(p, rows));
}

bool runs_on_tiles(const CommandContext& context) {
  const bool has_enough = !context.traits.has_tensor_cores() || context.rows() > kFewRows;
  return is_tiled(context.params<AttentionParams>()) && has_enough;
}

/** Scratch for the results of `spans` spans of all rows and heads. */
size_t span_bytes(const AttentionParams& p, uint32_t rows, uint32_t spans) {
  return size_t{rows} * p.heads * spans * (p.width + kSpanHeader) * sizeof(float);
}

}  // namespace

uint32_t count_spans(const CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  const uint32_t rows = context.rows();
  if (runs_attention_few(context) || runs_on_tiles(context)) return 0;
  const uint32_t parts = most_parts(p, context.shape), spans = std::min(parts, kMostSpans);
  const bool is_split = parts > kMostDirectParts && rows * groups_of_row(p, rows) < kEnoughGroups &&
                        span_bytes(p, rows, spans) <= kMaxSplitBytes;
  return is_split ? spans : 0;
}

Status plan_attention_spans(CommandContext& context, AttentionSpans* spans) {
  const auto& p = context.params<AttentionParams>();
  const uint32_t rows = context.rows();
  if (p.width > 512) return unsupported(context.command, "heads of at most 512 elements");
  if (p.cache_type == kScalarF16) return unsupported(context.command, "caches of float32 or bf16");
  if (runs_attention_few(context)) {
    plan_attention_few(context);
    return Status::good();
  }
  const std::string cache = p.cache_type == kScalarF32 ? "f32" : "bf16";
  const bool is_on_tiles = runs_on_tiles(context);
  const bool prepares_first = p.has_prepare != 0 && (rows > 1 || is_on_tiles);
  size_t prepared = 0;
  const size_t prepared_bytes = size_t{rows} * p.heads * p.width * sizeof(float);
  if (prepares_first) {
    prepared = context.scratch.take(prepared_bytes);
    if (prepares_by_lanes(context)) {
      plan_attention_prepare(context, prepared, prepared_bytes);
    } else {
      DispatchBuilder dispatch(context, "attention", "attention_prepare_" + cache);
      dispatch.operands(0, 3).operands(4, 9);
      dispatch.scratch(kScratchArgument + 1, prepared, prepared_bytes, true);
      dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
      dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
      dispatch.grid(p.heads + (p.has_kv != 0 ? 2 * p.kv_heads : 0), rows, 1, kLanes);
    }
  }

  if (is_on_tiles && runs_attention_wide(context)) {
    plan_attention_wide(context, prepares_first, prepared, prepared_bytes);
    return Status::good();
  }

  if (is_on_tiles) {
    DispatchBuilder dispatch(context, "attention_tile", attention_tile_kernel(p));
    if (prepares_first) {
      dispatch.scratch(kFirstOperand, prepared, prepared_bytes, false);
    } else {
      dispatch.operand(0);
    }
    dispatch.read(1, kFirstOperand + 1).read(2, kFirstOperand + 2).operand(3);
    dispatch.launch().x_stride = prepares_first ? p.heads * p.width : p.q_stride;
    cut_attention_tile(p, rows, &dispatch);
    return Status::good();
  }

  const uint32_t count = count_spans(context);
  const bool is_split = count > 0;
  const size_t split_bytes = span_bytes(p, rows, count);
  if (is_split) *spans = {count, context.scratch.take(split_bytes), split_bytes};
  DispatchBuilder dispatch(
      context, "attention",
      std::string("attention_") + (p.width > 256 ? "k512h" : "k256h") + std::to_string(heads_of_group(p, rows)) + "_" + cache);
  if (prepares_first) {
    dispatch.scratch(kFirstOperand, prepared, prepared_bytes, false);
  } else {
    dispatch.operand(0);
  }
  dispatch.operands(1, 3).operands(4, 9);
  if (is_split) {
    dispatch.nothing(kFirstOperand + kAttentionOutput).scratch(kScratchArgument, spans->offset, split_bytes, true);
  } else {
    dispatch.operand(kAttentionOutput).nothing(kScratchArgument);
  }
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set)).step(kTableArgument, StepArray::kTable);
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.launch().has_prologue = p.has_prepare != 0 && !prepares_first ? 1 : 0;
  dispatch.launch().x_stride = prepares_first ? p.heads * p.width : p.q_stride;
  dispatch.launch().is_split = spans->count;
  dispatch.grid(std::max(count, 1u), groups_of_row(p, rows), rows, kRowThreads);
  return Status::good();
}

Status plan_attention(CommandContext& context) {
  const auto& p = context.params<AttentionParams>();
  AttentionSpans spans;
  if (Status status = plan_attention_spans(context, &spans); !status.ok() || spans.count == 0) return status;
  DispatchBuilder dispatch(context, "attention", "attention_combine");
  dispatch.operand(kAttentionOutput);
  dispatch.scratch(kScratchArgument, spans.offset, spans.size_bytes, false);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, p.row_set));
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.launch().is_split = spans.count;
  dispatch.grid(p.heads, context.rows(), 1, p.width <= 128 ? 128 : kRowThreads);
  return Status::good();
}

}  // namespace markbase::gpu
