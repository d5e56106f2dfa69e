#include "plan_cores.h"

#include <algorithm>
#include <string>

#include "plan_stream.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Columns that the tensor cores take at once; kSpan of packed_rows.h. */
constexpr uint32_t kSpan = 64;
/** Columns of a chunk of kernels named linear_whole. */
constexpr uint32_t kWholeSpan = 256;
/** Widest row with a norm; kMaxNormedColumns of packed_rows.h. */
constexpr uint32_t kMaxNormedWidth = 6144;
/** Threadgroup memory for a packed row: what every NVIDIA GPU has, less what the kernel declares. */
constexpr size_t kMaxPackedBytes = 46 * 1024;
/** Weight rows of a product. */
constexpr uint32_t kTile = 16;

size_t packed_row_bytes(uint32_t in) { return in / 2 * sizeof(uint32_t) + in / kSpan * sizeof(float); }

/** Rows of a threadgroup, and tiles of outputs. */
struct CoreShape {
  uint32_t rows;
  uint32_t tiles;
};

CoreShape shape_of(uint32_t rows) {
  if (rows <= 8) return {8, 1};
  if (rows <= 16) return {16, 2};
  return {32, 2};
}

/** How simdgroups of the kernels for up to eight rows divide the blocks of outputs. */
struct RowTeams {
  bool is_alone;  ///< every simdgroup has blocks of its own; else those of a threadgroup share the columns of a block
  uint32_t threadgroups;
};

/** Chunks of 256 columns that the beginning and end of a block cost, alone and together. */
constexpr double kAloneCost = 0.25, kTogetherCost = 0.75;

RowTeams teams_of(const CommandContext& context, uint32_t in, uint32_t blocks) {
  const uint32_t resident = 2 * context.traits.multiprocessors;
  const double chunks = divide_up(in, kWholeSpan);
  const double alone = divide_up(blocks, resident * kRowSimdgroups) * (chunks + kAloneCost);
  const double together = divide_up(blocks, resident) * (chunks / kRowSimdgroups + kTogetherCost);
  if (alone < together) return {true, std::min(divide_up(blocks, kRowSimdgroups), resident)};
  // Threadgroups that pack a row for themselves make several blocks with it, unless there are few.
  return {false, blocks <= 2 * resident ? blocks : resident};
}

uint32_t count_blocks(const LinearParams& p, uint32_t tiles) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint32_t outputs = (is_pair ? kTile / 2 : kTile) * tiles;
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < (is_pair ? 1 : p.weights); ++i) blocks += divide_up(p.weight[i].out, outputs);
  return blocks;
}

bool is_row_aligned(const CommandContext& context, uint32_t operand, uint32_t stride) {
  const Binding& binding = context.command.bindings[operand];
  return binding.kind == Binding::Kind::kNone || activation_alignment(operand_offset(context.command, operand), stride) == 16;
}

bool is_gain_of_bf16(const CommandContext& context, uint32_t operand, uint32_t type) {
  return type == kScalarBf16 && operand_offset(context.command, operand) % 8 == 0;
}

}  // namespace

void bind_source(const CommandContext& context, const PreparedRows* rows, DispatchBuilder* dispatch) {
  if (rows == nullptr) {
    dispatch->operands(0, 5);
    dispatch->launch().x_stride = context.params<LinearParams>().x_stride;
    return;
  }
  bind_rows(*rows, dispatch);
  for (uint32_t operand = 1; operand < 5; ++operand) dispatch->nothing(operand + kFirstOperand);
  dispatch->launch().x_stride = rows->stride;
}

void bind_products(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch) {
  dispatch->operand(5);
  bind_weights(context, selected, group, dispatch);
  bind_outputs(context, selected, group, dispatch);
  dispatch->step(kStepArgument, StepArray::kOutputRow);
}

bool is_whole(const LinearParams& p) {
  const LinearWeightParams& weight = p.weight[0];
  return weight.format == kWeightAffine && weight.bits == 4 && weight.group == kSpan && p.in % kWholeSpan == 0;
}

bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows) {
  if (!traits.has_tensor_cores() || p.is_fast == 0 || p.in % kSpan != 0) return false;
  if (p.has_few_rows == 0 && rows > kMostCoreRows) return false;
  if (weight.format != kWeightAffine) return weight.format == kWeightBf16;
  return weight.bits % 2 == 0 && weight.group % kSpan == 0 && weight.scale_type == kScalarBf16;
}

bool runs_on_cores(const CommandContext& context, const WeightGroup& group) {
  const auto& p = context.params<LinearParams>();
  for (uint32_t i = 0; i < group.count; ++i) {
    const LinearWeightParams& weight = p.weight[group.index[i]];
    if (!runs_on_cores(context.traits, p, weight, context.rows())) return false;
    const uint32_t operand = kFirstWeight + 3 * group.index[i];
    if (row_alignment(context.command, operand, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
    if (weight.format != kWeightAffine) continue;
    // A chunk of scales is one load.
    if (operand_offset(context.command, operand + 1) % 8 != 0 || operand_offset(context.command, operand + 2) % 8 != 0) return false;
  }
  return true;
}

bool packs_with_prologue(const CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (!is_row_aligned(context, 0, p.x_stride)) return false;
  if (p.has_residual == 0 && p.has_norm == 0) return true;
  if (p.in > kMaxNormedWidth) return false;
  if (p.has_norm != 0 && !is_gain_of_bf16(context, 4, p.norm_gain_type)) return false;
  return p.has_residual == 0 || (is_gain_of_bf16(context, 2, p.residual_gain_type) && is_row_aligned(context, 1, p.residual_stride) &&
                                 is_row_aligned(context, 3, p.h_stride));
}

void multiply_by_cores(CommandContext& context, const WeightGroup& group, const PreparedRows* rows) {
  const auto& p = context.params<LinearParams>();
  LinearParams selected = select_weights(p, group);
  if (rows != nullptr) selected.gathers = selected.has_residual = selected.has_norm = 0;
  if (runs_as_stream(context, selected)) return multiply_by_stream(context, selected, group, rows);
  const LinearWeightParams& first = selected.weight[0];
  const std::string format = kernel_format(first.format, first.bits);
  const uint32_t count = context.rows();
  const size_t row_bytes = packed_row_bytes(p.in);
  if (count == 1 && row_bytes <= kMaxPackedBytes) {
    const RowTeams teams = teams_of(context, p.in, count_blocks(selected, 1));
    DispatchBuilder dispatch(context, "linear_cores", (teams.is_alone ? "linear_cores_each_" : "linear_cores_row_") + format);
    dispatch.params(selected);
    bind_source(context, rows, &dispatch);
    bind_products(context, selected, group, &dispatch);
    dispatch.shared_row(static_cast<uint32_t>(row_bytes / sizeof(float)), 1).grid(teams.threadgroups, 1, 1, kRowThreads);
    return;
  }

  const CoreShape shape = shape_of(count);
  const uint32_t row_blocks = divide_up(count, shape.rows), packed_rows = row_blocks * shape.rows;
  const size_t bytes = packed_rows * row_bytes;
  const size_t offset = context.scratch.take(bytes);
  {
    const bool interleaves = first.format == kWeightAffine && first.bits == 4;
    DispatchBuilder pack(context, "linear_cores", interleaves ? "linear_pack_q4" : "linear_pack");
    pack.params(selected);
    bind_source(context, rows, &pack);
    pack.scratch(kScratchArgument, offset, bytes, true).step(kStepArgument, StepArray::kOutputRow);
    pack.grid(packed_rows, 1, 1, kRowThreads);
  }
  std::string kernel = (shape.rows == 32 && is_whole(selected) ? "linear_whole" : "linear_cores") + std::to_string(shape.rows) + "_";
  uint32_t threadgroups = count_blocks(selected, shape.tiles);
  if (shape.rows == 8) {
    const RowTeams teams = teams_of(context, p.in, threadgroups);
    if (teams.is_alone) kernel = "linear_cores_each8_";
    threadgroups = teams.threadgroups;
  }
  DispatchBuilder dispatch(context, "linear_cores", kernel + format);
  dispatch.params(selected).scratch(kFirstOperand, offset, bytes, false);
  for (uint32_t operand = 1; operand < 5; ++operand) dispatch.nothing(operand + kFirstOperand);
  bind_products(context, selected, group, &dispatch);
  dispatch.grid(threadgroups, row_blocks, 1, kRowThreads);
}

}  // namespace markbase::gpu
