#include "plan_wide.h"

#include <algorithm>

#include "linear_wide_tiles.h"
#include "plan_cores.h"
#include "plan_prologue.h"
#include "plan_wide_tiles.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kSpan = MARKBASE_WIDE_COLUMNS;

/** Columns that a thread of linear_rows takes. */
constexpr uint32_t kPiece = 16;

/** Columns of a row for which each thread of linear_rows_normed2 has two quads. */
constexpr uint32_t kShortRow = 2 * 4 * kRowThreads;

/** Columns of a row that linear_rows_prepared loads together. */
constexpr uint32_t kRowChunk = 8;

/** Bytes that linear_rows loads at a time. */
constexpr uint32_t kRowAlignment = 16;

/** Rows of the largest tile: memory is allocated for whole tiles, so that no tile reads beyond it. */
constexpr uint32_t kMostTileRows = 256;

/** True when the kernel takes the weight of the command whose operands begin at `operand`; for programs of many rows in `fast`. */
bool is_wide(const CommandContext& context, const LinearWeightParams& weight, uint32_t operand) {
  const auto& p = context.params<LinearParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0) return false;
  // The last stage of a bf16 row may be incomplete.
  if (p.in < kSpan || p.in % (weight.format == kWeightBf16 ? kPiece : kSpan) != 0) return false;
  if (row_alignment(context.command, operand, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
  if (weight.format != kWeightAffine) return weight.format == kWeightBf16;
  if (weight.bits % 2 != 0 || weight.scale_type != kScalarBf16 || (weight.group != kSpan && weight.group != 2 * kSpan)) return false;
  return has_scalar_words(context.command, operand, uint64_t{weight.out} * (p.in / weight.group));
}

/** Memory for rows in the layout of linear_wide. */
PreparedRows take_wide_rows(CommandContext& context) {
  const uint32_t in = context.params<LinearParams>().in, rows = divide_up(context.rows(), kMostTileRows) * kMostTileRows;
  const size_t bytes = size_t{rows} * wide_columns(in) * sizeof(uint16_t);
  return {true, context.scratch.take(bytes), bytes, kLinearX, in, true};
}

bool takes(const LinearProduct& product) {
  const CommandContext& context = product.context;
  if (product.rows == nullptr || !has_many_rows(context.traits, context.params<LinearParams>(), context.rows())) return false;
  for (uint32_t i = 0; i < product.group.count; ++i) {
    if (!is_wide(context, product.p.weight[i], kFirstWeight + kWeightParts * product.group.index[i])) return false;
  }
  return product.p.weight[0].has_clip != 0 || row_alignment_of(context, *product.rows) >= kRowAlignment;
}

/** True when linear_batch can copy the weights: whole chunks of codes, and scales of a chunk at multiples of eight bytes. */
bool has_chunks(const LinearProduct& product) {
  if (!is_whole(product.p)) return false;
  for (uint32_t i = 0; i < product.group.count; ++i) {
    const uint32_t operand = kFirstWeight + kWeightParts * product.group.index[i];
    if (operand_offset(product.context.command, operand + 1) % 8 != 0) return false;
    if (operand_offset(product.context.command, operand + 2) % 8 != 0) return false;
  }
  return true;
}

void plan(const LinearProduct& product) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const bool is_aligned = row_alignment_of(context, *product.rows) >= kRowAlignment;
  const PreparedRows rows = widen_rows(context, p, is_aligned ? *product.rows : clamp_rows(product));
  const LinearWeightParams& first = p.weight[0];
  const WideTiling tiling = wide_tiling(context, p, has_chunks(product));
  const WideTileKernel& kernel = *tiling.kernel;
  const uint32_t bits = first.format == kWeightAffine ? first.bits : 16;
  const size_t bytes = size_t{tiling.shares} * context.rows() * tiling.blocks * kernel.outputs * sizeof(float);
  const bool is_split = tiling.shares > 1;
  const size_t offset = is_split ? context.scratch.take(bytes) : 0;
  {
    DispatchBuilder dispatch(context, kernel.source, std::string(kernel.name) + "_" + kernel_format(first.format, first.bits));
    dispatch.params(p);
    bind_rows(rows, &dispatch);
    dispatch.operand(kEpilogueOperand);
    bind_weights(product, &dispatch);
    if (is_split) {
      for (uint32_t i = 0; i < kMostWeights; ++i) dispatch.nothing(kFirstOperand + kFirstOutput + i);
      dispatch.scratch(kScratchArgument, offset, bytes, true);
      dispatch.launch().is_split = tiling.shares;
    } else {
      bind_outputs(product, &dispatch);
      dispatch.nothing(kScratchArgument);
    }
    dispatch.shared_bytes(kernel.shared_bytes(bits));
    dispatch.grid(tiling.blocks, divide_up(context.rows(), kernel.rows), tiling.shares, kernel.threads);
  }
  if (!is_split) return;
  DispatchBuilder add(context, "linear_wide", "linear_wide_add" + std::to_string(kernel.outputs));
  add.params(p).operand(kEpilogueOperand).scratch(kScratchArgument, offset, bytes, false);
  bind_outputs(product, &add);
  add.launch().is_split = tiling.shares;
  const uint32_t outputs = p.epilogue == kLinearGeglu ? kernel.outputs / 2 : kernel.outputs;
  add.grid(tiling.blocks, divide_up(context.rows(), kRowThreads / outputs), 1, kRowThreads);
}

}  // namespace

bool are_wide(const CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (!has_many_rows(context.traits, p, context.rows())) return false;
  for (uint32_t i = 0; i < p.weights; ++i) {
    if (!has_same_input(p.weight[0], p.weight[i]) || !is_wide(context, p.weight[i], kFirstWeight + kWeightParts * i)) return false;
  }
  return true;
}

PreparedRows prepare_wide(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const PreparedRows rows = take_wide_rows(context);
  const bool loads_at_once = packs_with_prologue(context);
  const std::string normed = p.in <= kShortRow ? "linear_rows_normed2" : "linear_rows_normed6";
  DispatchBuilder dispatch(context, "linear_rows", loads_at_once ? normed : "linear_rows_prepared");
  dispatch.operands(kLinearX, kEpilogueOperand).scratch(kScratchArgument, rows.offset, rows.size_bytes, true);
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  if (!loads_at_once) dispatch.shared_row(p.in, kRowChunk);
  dispatch.grid(context.rows(), 1, 1, kRowThreads);
  return rows;
}

PreparedRows widen_rows(CommandContext& context, const LinearParams& p, const PreparedRows& rows) {
  if (rows.is_wide) return rows;
  const PreparedRows wide = take_wide_rows(context);
  DispatchBuilder dispatch(context, "linear_rows", "linear_rows");
  dispatch.params(p);
  bind_rows(rows, &dispatch);
  dispatch.scratch(kScratchArgument, wide.offset, wide.size_bytes, true);
  const uint32_t tasks = wide_columns(p.in) / kPiece;
  // Short rows use fewer threads, none of them idle.
  dispatch.grid(divide_up(tasks, kRowThreads), context.rows(), 1, std::min(divide_up(tasks, kLanes) * kLanes, kRowThreads));
  return wide;
}

const LinearStrategy kWideLinear = {takes, plan};

}  // namespace markbase::gpu
