#include "linear_params.h"

#include <algorithm>

#include "elementwise/elementwise_params.h"
#include "gather_rows/gather_rows_params.h"
#include "plan_cores.h"
#include "plan_exact.h"
#include "plan_wide.h"
#include "linear_wide_tiles.h"
#include "step_planner.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kFirstOutput = 17;  ///< argument index of the first output

}  // namespace

void bind_rows(const PreparedRows& rows, DispatchBuilder* dispatch) {
  if (rows.is_scratch) {
    dispatch->scratch(kFirstOperand, rows.offset, rows.size_bytes, false);
  } else if (rows.operand == 0) {
    dispatch->operand(0);
  } else {
    dispatch->read(rows.operand, kFirstOperand);
  }
}

LinearParams select_weights(const LinearParams& p, const WeightGroup& group) {
  LinearParams selected = p;
  selected.weights = group.count;
  for (uint32_t i = 0; i < group.count; ++i) selected.weight[i] = p.weight[group.index[i]];
  return selected;
}

void bind_outputs(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch) {
  const auto& p = context.params<LinearParams>();
  const uint32_t outputs = selected.epilogue != kLinearStore ? 1 : group.count;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t output = outputs == 1 && selected.epilogue != kLinearStore ? 0 : group.index[i];
    if (i >= outputs) dispatch->nothing(kFirstOutput + i);
    else dispatch->operand(kFirstWeight + 3 * p.weights + output, kFirstOutput + i, 15 + i);
  }
}

void bind_weights(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch) {
  const auto& p = context.params<LinearParams>();
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t slot = kFirstWeight + 3 * i;
    for (uint32_t part = 0; part < 3; ++part) {
      if (i >= group.count) dispatch->nothing(slot + part + kFirstOperand);
      else dispatch->operand(kFirstWeight + 3 * group.index[i] + part, slot + part + kFirstOperand, slot + part);
    }
    if (i >= group.count) continue;
    const LinearWeightParams& weight = selected.weight[i];
    const size_t row_bytes = weight_row_bytes(weight.format, weight.bits, p.in);
    dispatch->launch().alignment[i] = row_alignment(context.command, kFirstWeight + 3 * group.index[i], row_bytes);
  }
  if (selected.epilogue == kLinearGeglu) {
    // Both streams of a pair are loaded the same way.
    Launch& launch = dispatch->launch();
    launch.alignment[0] = std::min(launch.alignment[0], launch.alignment[1]);
  }
}

namespace {

constexpr uint32_t kPreparedArgument = kScratchArgument;
constexpr uint32_t kShortRow = 2 * 4 * kRowThreads;  ///< columns of which threads of linear_rows_normed have two fours each
constexpr uint32_t kOutputsOfOne = 4;    ///< streams of the kernels for one and for four rows
constexpr uint32_t kOutputsOfEight = 2;  ///< ... for eight

/** How a dispatch is cut: which kernel, and what one of its threadgroups makes. */
struct Tiling {
  const char* source;
  std::string kernel;  ///< without the format
  uint32_t rows;
  uint32_t outputs;
  uint32_t threads;
};

/** True when all steps of the program run on tiles, however few rows one has: a row's bits do not depend on its neighbours. */
bool is_tiled(const LinearParams& p) { return p.is_fast != 0 && p.has_few_rows == 0; }

Tiling tiling_of(const CommandContext& context, bool does_prologue) {
  const auto& p = context.params<LinearParams>();
  const uint32_t rows = context.rows();
  if (does_prologue) return {"linear", "linear_row_", 1, kRowSimdgroups * kOutputsOfOne, kRowThreads};
  if (is_tiled(p)) return {"linear_tile", "linear_tile_", 32, 64, 128};
  if (rows == 1) return {"linear", "linear_rows1_", 1, kRowSimdgroups * kOutputsOfOne, kRowThreads};
  if (rows <= 4) return {"linear", "linear_rows4_", 4, kRowSimdgroups * kOutputsOfOne, kRowThreads};
  return {"linear", "linear_rows8_", 8, kRowSimdgroups * kOutputsOfEight, kRowThreads};
}

/** Brings the rows that are multiplied together, by the kernel of gather_rows. */
PreparedRows gather(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const size_t bytes = size_t{context.rows()} * p.in * sizeof(float);
  const PreparedRows rows = {true, context.scratch.take(bytes), bytes, 0, p.in};
  const GatherRowsParams params = {p.in, p.x_stride, p.in};
  DispatchBuilder(context, "gather_rows", "gather_rows")
      .params(params)
      .operand(0)
      .scratch(kFirstOperand + 1, rows.offset, rows.size_bytes, true)
      .step(kStepArgument, StepArray::kOutputRow)
      .grid(divide_up(p.in, kRowThreads), context.rows(), 1, kRowThreads);
  return rows;
}

/** Runs the prologue of several rows. */
PreparedRows prepare(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (p.has_residual == 0 && p.has_norm == 0) {
    return p.gathers == 0 ? PreparedRows{false, 0, 0, 0, p.x_stride} : gather(context);
  }
  PreparedRows rows = {p.has_norm != 0, 0, size_t{context.rows()} * p.in * sizeof(float), 3,
                       p.has_norm != 0 ? p.in : p.h_stride};
  DispatchBuilder dispatch(context, "linear_prologue", "linear_prologue");
  dispatch.operands(0, 5);
  if (rows.is_scratch) {
    rows.offset = context.scratch.take(rows.size_bytes);
    dispatch.scratch(kPreparedArgument, rows.offset, rows.size_bytes, true);
  } else {
    dispatch.nothing(kPreparedArgument);
  }
  dispatch.launch().x_stride = p.in;
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  dispatch.shared_row(p.in, 8).grid(context.rows(), 1, 1, kRowThreads);
  return rows;
}

/** Memory for rows as linear_wide takes them. */
PreparedRows take_wide_rows(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const size_t bytes = size_t{padded_wide_rows(context.rows())} * wide_columns(p.in) * sizeof(uint16_t);
  return {true, context.scratch.take(bytes), bytes, 0, p.in, true};
}

/** Runs the prologue of several rows, whose end is a norm, for linear_wide; of weights that take the same rows. */
PreparedRows prepare_wide(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const PreparedRows rows = take_wide_rows(context);
  const bool loads_at_once = packs_with_prologue(context);
  const std::string normed = p.in <= kShortRow ? "linear_rows_normed2" : "linear_rows_normed6";
  DispatchBuilder dispatch(context, "linear_rows", loads_at_once ? normed : "linear_rows_prepared");
  dispatch.operands(0, 5).scratch(kPreparedArgument, rows.offset, rows.size_bytes, true);
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  if (!loads_at_once) dispatch.shared_row(p.in, 8);
  dispatch.grid(context.rows(), 1, 1, kRowThreads);
  return rows;
}

/** Bytes that the address of every row is a multiple of. */
uint32_t row_alignment_of(const CommandContext& context, const PreparedRows& rows) {
  return activation_alignment(rows.is_scratch ? 0 : operand_offset(context.command, rows.operand), rows.stride);
}

/**
 * The rows as linear_wide takes them, clamped for the first weight of `p`, by a dispatch of their own unless they are so; of 16
 * neighbours a thread.
 */
PreparedRows widen_rows(CommandContext& context, const LinearParams& p, const PreparedRows& rows) {
  if (rows.is_wide) return rows;
  const PreparedRows wide = take_wide_rows(context);
  DispatchBuilder dispatch(context, "linear_rows", "linear_rows");
  dispatch.params(p);
  bind_rows(rows, &dispatch);
  dispatch.launch().x_stride = rows.stride;
  dispatch.scratch(kPreparedArgument, wide.offset, wide.size_bytes, true);
  const uint32_t tasks = wide_columns(p.in) / 16;
  // Short rows have no threads that do nothing.
  dispatch.grid(divide_up(tasks, kRowThreads), context.rows(), 1, std::min(divide_up(tasks, kLanes) * kLanes, kRowThreads));
  return wide;
}

/** The rows as a weight with a clip takes them, by the kernel of elementwise; those for linear_wide are so. */
PreparedRows clamp_rows(CommandContext& context, const PreparedRows& rows, const LinearWeightParams& weight) {
  if (weight.has_clip == 0 || rows.is_wide) return rows;
  const auto& p = context.params<LinearParams>();
  const size_t bytes = size_t{context.rows()} * p.in * sizeof(float);
  const PreparedRows clamped = {true, context.scratch.take(bytes), bytes, 0, p.in};
  const ElementwiseParams params = {kElementwiseClamp, p.row_set,        p.in,
                                    rows.stride,       0,                p.in,
                                    weight.input_low,  weight.input_high};
  DispatchBuilder dispatch(context, "elementwise", "elementwise");
  dispatch.params(params);
  bind_rows(rows, &dispatch);
  dispatch.nothing(kFirstOperand + 1).scratch(kFirstOperand + 2, clamped.offset, bytes, true);
  dispatch.grid(divide_up(p.in, kRowThreads), context.rows(), 1, kRowThreads);
  return clamped;
}

/** True when two weights take the same rows. */
bool has_same_input(const LinearWeightParams& a, const LinearWeightParams& b) {
  if (a.has_clip == 0 && b.has_clip == 0) return true;
  return a.has_clip == b.has_clip && a.input_low == b.input_low && a.input_high == b.input_high;
}

/** True when one dispatch can multiply with both. */
bool is_alike(const LinearWeightParams& a, const LinearWeightParams& b) {
  return is_stored_alike(a, b) && has_same_input(a, b);
}

/** True when linear_wide multiplies these rows with a group of weights. */
bool is_wide_group(const CommandContext& context, const WeightGroup& group, const PreparedRows& rows) {
  const auto& p = context.params<LinearParams>();
  bool is_whole = row_alignment_of(context, rows) >= 16 && context.rows() > kMostCoreRows;
  for (uint32_t i = 0; i < group.count; ++i) {
    is_whole = is_whole && is_wide(context, p.weight[group.index[i]], kFirstWeight + 3 * group.index[i]);
  }
  return is_whole;
}

/** The rows as a group of weights takes them; linear_rows clamps those for linear_wide. */
PreparedRows clamp_unless_wide(CommandContext& context, const WeightGroup& group, const PreparedRows& rows) {
  if (is_wide_group(context, group, rows)) return rows;
  return clamp_rows(context, rows, context.params<LinearParams>().weight[group.index[0]]);
}

/** The dispatches of linear_wide for a group of weights. `bind`: binds the outputs. */
template <typename Bind>
void multiply_wide(CommandContext& context, const LinearParams& selected, const WeightGroup& group, const PreparedRows& rows,
                   const Bind& bind) {
  const LinearWeightParams& first = selected.weight[0];
  const WideTiling tiling = wide_tiling(context, selected);
  const uint32_t bits = first.format == kWeightAffine ? first.bits : 16;
  const size_t bytes = size_t{tiling.shares} * context.rows() * tiling.blocks * tiling.outputs * sizeof(float);
  const bool is_split = tiling.shares > 1;
  const size_t offset = is_split ? context.scratch.take(bytes) : 0;
  {
    DispatchBuilder dispatch(context, tiling.source(), tiling.kernel() + "_" + kernel_format(first.format, first.bits));
    dispatch.params(selected);
    bind_rows(rows, &dispatch);
    dispatch.operand(5);
    bind_weights(context, selected, group, &dispatch);
    if (is_split) {
      for (uint32_t i = 0; i < 3; ++i) dispatch.nothing(kFirstOutput + i);
      dispatch.scratch(kScratchArgument, offset, bytes, true);
      dispatch.launch().is_split = tiling.shares;
    } else {
      bind(&dispatch);
      dispatch.nothing(kScratchArgument);
    }
    dispatch.shared_bytes(wide_shared_bytes(tiling.threads, tiling.rows, tiling.outputs, bits));
    dispatch.grid(tiling.blocks, divide_up(context.rows(), tiling.rows), tiling.shares, tiling.threads);
  }
  if (!is_split) return;
  DispatchBuilder add(context, "linear_wide", "linear_wide_add" + std::to_string(tiling.outputs));
  add.params(selected).operand(5).scratch(kScratchArgument, offset, bytes, false);
  bind(&add);
  add.launch().is_split = tiling.shares;
  const uint32_t outputs = selected.epilogue == kLinearGeglu ? tiling.outputs / 2 : tiling.outputs;
  add.grid(tiling.blocks, divide_up(context.rows(), kRowThreads / outputs), 1, kRowThreads);
}

/** What multiplies with weights that are stored alike and take the same rows. `prepared`: not clamped yet. */
void multiply(CommandContext& context, const WeightGroup& group, bool does_prologue, const PreparedRows& prepared) {
  const auto& p = context.params<LinearParams>();
  LinearParams selected = select_weights(p, group);
  const PreparedRows rows = clamp_unless_wide(context, group, prepared);
  if (!does_prologue && row_alignment_of(context, rows) >= 16 && runs_on_cores(context, group)) {
    return multiply_by_cores(context, group, &rows);
  }
  if (is_wide_group(context, group, rows)) {
    multiply_wide(context, selected, group, widen_rows(context, selected, rows),
                  [&](DispatchBuilder* dispatch) { bind_outputs(context, selected, group, dispatch); });
    return;
  }
  const LinearWeightParams& first = selected.weight[0];
  const uint32_t count = context.rows();
  const Tiling tiling = tiling_of(context, does_prologue);
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint32_t block = is_pair ? tiling.outputs / 2 : tiling.outputs;
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < (is_pair ? 1 : group.count); ++i) blocks += divide_up(selected.weight[i].out, block);

  DispatchBuilder dispatch(context, tiling.source, tiling.kernel + kernel_format(first.format, first.bits));
  dispatch.params(selected);
  bind_rows(rows, &dispatch);
  for (uint32_t operand = 1; operand < 5; ++operand) {
    if (does_prologue) dispatch.operand(operand);
    else dispatch.nothing(operand + kFirstOperand);
  }
  dispatch.operand(5);
  bind_weights(context, selected, group, &dispatch);
  bind_outputs(context, selected, group, &dispatch);
  Launch& launch = dispatch.launch();
  launch.x_stride = rows.stride;
  launch.x_alignment = row_alignment_of(context, rows);
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  if (does_prologue) dispatch.shared_row(p.in, chunk_columns(first.format));
  dispatch.grid(blocks, divide_up(count, tiling.rows), 1, tiling.threads);
}

/** Runs the prologue of several rows, and makes them what all weights take where that is the same. */
PreparedRows prepare_rows(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  bool is_wide_for_all = context.rows() > kMostCoreRows;
  for (uint32_t i = 0; i < p.weights; ++i) {
    is_wide_for_all = is_wide_for_all && has_same_input(p.weight[0], p.weight[i]) &&
                      is_wide(context, p.weight[i], kFirstWeight + 3 * i);
  }
  if (is_wide_for_all && p.has_norm != 0) return prepare_wide(context);
  const PreparedRows rows = prepare(context);
  return is_wide_for_all && row_alignment_of(context, rows) >= 16 ? widen_rows(context, p, rows) : rows;
}

/** geglu of two weights that are stored differently: two products, then the formula. */
void multiply_unlike_pair(CommandContext& context, const PreparedRows& rows) {
  const auto& p = context.params<LinearParams>();
  const uint32_t out = p.weight[0].out;
  const size_t bytes = size_t{context.rows()} * out * sizeof(float);
  size_t products[2];
  for (uint32_t i = 0; i < 2; ++i) {
    products[i] = context.scratch.take(bytes);
    LinearParams single = p;
    single.weights = 1;
    single.epilogue = kLinearStore;
    single.weight[0] = p.weight[i];
    single.weight[0].y_stride = out;
    const WeightGroup group = {1, {i}};
    const PreparedRows own_rows = clamp_unless_wide(context, group, rows);
    const auto bind = [&](DispatchBuilder* dispatch) {
      dispatch->scratch(kFirstOutput, products[i], bytes, true).nothing(kFirstOutput + 1).nothing(kFirstOutput + 2);
    };
    if (is_wide_group(context, group, own_rows)) {
      multiply_wide(context, single, group, widen_rows(context, single, own_rows), bind);
      continue;
    }
    const Tiling tiling = tiling_of(context, false);
    DispatchBuilder dispatch(context, tiling.source, tiling.kernel + kernel_format(p.weight[i].format, p.weight[i].bits));
    dispatch.params(single);
    bind_rows(own_rows, &dispatch);
    for (uint32_t argument = kFirstOperand + 1; argument < kFirstOperand + kFirstWeight; ++argument) dispatch.nothing(argument);
    bind_weights(context, single, group, &dispatch);
    bind(&dispatch);
    dispatch.step(kStepArgument, StepArray::kOutputRow);
    Launch& launch = dispatch.launch();
    launch.x_stride = own_rows.stride;
    launch.x_alignment = row_alignment_of(context, own_rows);
    dispatch.grid(divide_up(out, tiling.outputs), divide_up(context.rows(), tiling.rows), 1, tiling.threads);
  }
  const ElementwiseParams geglu = {kElementwiseGeglu, p.row_set, out, out, out, p.weight[0].y_stride, 0, 0};
  DispatchBuilder dispatch(context, "elementwise", "elementwise");
  dispatch.params(geglu)
      .scratch(kFirstOperand, products[0], bytes, false)
      .scratch(kFirstOperand + 1, products[1], bytes, false)
      .operand(kFirstWeight + 3 * p.weights, kFirstOperand + 2, 0)
      .grid(divide_up(out, kRowThreads), context.rows(), 1, kRowThreads);
}

}  // namespace

Status plan_linear(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const bool has_prologue = p.has_residual != 0 || p.has_norm != 0;
  if (has_prologue && p.in * sizeof(float) > kMaxSharedRowBytes) {
    return unsupported(context.command, "rows with a norm have at most 7680 elements");
  }
  const bool is_unlike_pair = p.epilogue == kLinearGeglu && !is_alike(p.weight[0], p.weight[1]);
  bool is_uniform = true;
  for (uint32_t i = 0; i < p.weights; ++i) is_uniform = is_uniform && is_alike(p.weight[0], p.weight[i]) && p.weight[i].has_clip == 0;
  WeightGroup all;
  for (uint32_t i = 0; i < p.weights; ++i) all.index[all.count++] = i;
  if (is_uniform && runs_on_cores(context, all) && packs_with_prologue(context)) {
    multiply_by_cores(context, all, nullptr);
    return Status::good();
  }
  if (runs_exactly(context)) {
    multiply_exactly(context);
    return Status::good();
  }
  // Every threadgroup of every dispatch would store h: one dispatch may do it, several need it done before.
  const bool does_prologue = has_prologue && context.rows() == 1 && is_uniform && !is_tiled(p);
  const PreparedRows rows = does_prologue ? PreparedRows{false, 0, 0, 0, p.x_stride} : prepare_rows(context);
  if (is_unlike_pair) {
    multiply_unlike_pair(context, rows);
    return Status::good();
  }
  bool is_done[3] = {};
  for (uint32_t i = 0; i < p.weights; ++i) {
    if (is_done[i]) continue;
    WeightGroup group;
    for (uint32_t j = i; j < p.weights; ++j) {
      if (is_done[j] || !is_alike(p.weight[i], p.weight[j])) continue;
      is_done[j] = true;
      group.index[group.count++] = j;
    }
    multiply(context, group, does_prologue, rows);
  }
  return Status::good();
}

}  // namespace markbase::gpu
