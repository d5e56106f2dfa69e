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

/** Partitions that one threadgroup still goes through by itself: folding would cost more. */
constexpr uint32_t kMostDirectParts = 4;

/** Threadgroups that keep any GPU busy: beyond them, splitting positions gains nothing. */
constexpr uint32_t kEnoughGroups = 512;

/** Rows that tensor cores would work on alone: with so few, kernels for a row are quicker in programs of many rows too. */
constexpr uint32_t kFewRows = 8;

/** Most scratch for the results of spans. */
constexpr size_t kMaxSplitBytes = size_t{64} << 20;

/** Partitions of the row that sees most. */
uint32_t most_parts(const AttentionParams& p, const StepShape& shape) {
  const uint32_t parts = divide_up(shape.positions + shape.lookahead, kPartition);
  if (p.window == 0) return parts;
  // A window that begins anywhere touches one partition more than it fills.
  const uint32_t window = divide_up(p.window + shape.lookahead, kPartition) + 1;
  return window < parts ? window : parts;
}

}  // namespace

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
  const bool is_wide = p.width > 256;
  const uint32_t group_heads = p.heads / p.kv_heads;
  const uint32_t most_heads = is_wide ? 2 : 4;
  // Few threadgroups: rather more of them that read the same keys than idle cores.
  uint32_t heads = group_heads >= most_heads ? most_heads : group_heads >= 2 ? 2 : 1;
  while (heads > 1 && rows * p.kv_heads * divide_up(group_heads, heads) < 8) heads /= 2;
  const uint32_t tiles = p.kv_heads * divide_up(group_heads, heads);

  const bool runs_on_tiles = is_tiled(p) && (!context.traits.has_tensor_cores() || rows > kFewRows);
  const bool prepares_first = p.has_prepare != 0 && (rows > 1 || runs_on_tiles);
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
      dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set));
      dispatch.grid(p.heads + (p.has_kv != 0 ? 2 * p.kv_heads : 0), rows, 1, kLanes);
    }
  }

  if (runs_on_tiles && runs_attention_wide(context)) {
    plan_attention_wide(context, prepares_first, prepared, prepared_bytes);
    return Status::good();
  }

  if (runs_on_tiles) {
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

  const uint32_t parts = most_parts(p, context.shape);
  const uint32_t most_spans = std::min(parts, kMostSpans);
  const size_t split_bytes = size_t{rows} * p.heads * most_spans * (p.width + kSpanHeader) * sizeof(float);
  const bool is_split = parts > kMostDirectParts && rows * tiles < kEnoughGroups && split_bytes <= kMaxSplitBytes;
  if (is_split) *spans = {most_spans, context.scratch.take(split_bytes), split_bytes};
  DispatchBuilder dispatch(context, "attention",
                           std::string("attention_") + (is_wide ? "k512h" : "k256h") + std::to_string(heads) + "_" + cache);
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
  dispatch.step(kStepArgument + 1, of_set(StepArray::kSlot, p.row_set));
  dispatch.step(kStepArgument + 2, of_set(StepArray::kVisibleEnd, p.row_set));
  dispatch.launch().has_prologue = p.has_prepare != 0 && !prepares_first ? 1 : 0;
  dispatch.launch().x_stride = prepares_first ? p.heads * p.width : p.q_stride;
  dispatch.launch().is_split = spans->count;
  dispatch.grid(is_split ? most_spans : 1, tiles, rows, kRowThreads);
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
