#include "merge.h"

#include "attention/attention_linear.h"
#include "attention/attention_params.h"
#include "elementwise/elementwise_params.h"
#include "embed/embed_params.h"
#include "linear/linear_norm.h"
#include "linear/linear_params.h"
#include "rms_norm/rms_norm_params.h"
#include "rope_table/rope_table_params.h"
#include "weight_formats.h"

#include "attention/plan_spans.h"
#include "embed/begin_step.h"
#include "linear/plan_cores.h"
#include "rms_norm/rms_norm_pair.h"

namespace markbase::gpu {

namespace {

/** Embeddings and rope tables that one begin_step takes of each. */
constexpr size_t kMostOfKind = 2;

/** Outputs of a threadgroup of attention_linear: four a simdgroup. */
constexpr uint32_t kAttentionLinearOutputs = 4 * kRowSimdgroups;

bool overlaps(const Binding& a, const Binding& b) {
  return a.kind == Binding::Kind::kArena && b.kind == Binding::Kind::kArena &&
         a.arena_offset < b.arena_offset + b.size_bytes && b.arena_offset < a.arena_offset + a.size_bytes;
}

/** True when two operands are one value of the arena. */
bool is_same(const Binding& a, const Binding& b) {
  return a.kind == Binding::Kind::kArena && b.kind == Binding::Kind::kArena && a.arena_offset == b.arena_offset;
}

/** What the first later command that touches a value does with it. */
enum class NextUse { kNone, kRead, kOverwrite };

NextUse next_use(const ProgramDescription& program, size_t index, const Binding& value) {
  for (size_t i = index + 1; i < program.commands.size(); ++i) {
    NextUse use = NextUse::kNone;
    for (const Binding& binding : program.commands[i].bindings) {
      if (!overlaps(binding, value)) continue;
      if (!binding.is_output) return NextUse::kRead;
      use = NextUse::kOverwrite;
    }
    if (use != NextUse::kNone) return use;
  }
  return NextUse::kNone;
}

/** True when no later command reads a value, and no output of the program is in its place. */
bool is_dead_after(const ProgramDescription& program, size_t index, const Binding& value) {
  for (const Port& port : program.outputs) {
    if (port.arena_offset >= value.arena_offset && port.arena_offset < value.arena_offset + value.size_bytes) return false;
  }
  return next_use(program, index, value) != NextUse::kRead;
}

/** The embeddings and rope tables from a command on. */
Status plan_begin(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count) {
  std::vector<const Command*> embeds, tables;
  for (size_t i = index; i < program.commands.size(); ++i) {
    const Command& command = program.commands[i];
    const bool is_embed = command.kernel.family == "embed", is_table = command.kernel.family == "rope_table";
    std::vector<const Command*>& of_kind = is_embed ? embeds : tables;
    if ((!is_embed && !is_table) || command.row_set != kAllRows || of_kind.size() == kMostOfKind) break;
    of_kind.push_back(&command);
  }
  if (embeds.size() + tables.size() < 2) return Status::good();
  // Soft tokens are dead behind their embedding: what comes after it may lie in their place, and cannot come at once.
  constexpr uint32_t kSoft = 3, kEmbedded = 4, kTable = 1;
  for (const Command* embed : embeds) {
    const Binding& soft = embed->bindings[kSoft];
    for (const Command* other : embeds) {
      if (overlaps(soft, other->bindings[kEmbedded])) return Status::good();
    }
    for (const Command* table : tables) {
      if (overlaps(soft, table->bindings[kTable])) return Status::good();
    }
  }
  *count = embeds.size() + tables.size();

  BeginStepParams params{};
  DispatchBuilder dispatch(context, "begin_step", "begin_step");
  uint32_t end = 0;
  for (uint32_t i = 0; i < kMostOfKind; ++i) {
    if (i < embeds.size()) {
      params.embed[i] = embeds[i]->params_as<EmbedParams>();
      end += divide_up(params.embed[i].width, kRowThreads);
    }
    params.end[i] = end;
    for (uint32_t operand = 0; operand < 5; ++operand) {
      const uint32_t slot = 5 * i + operand;
      if (i < embeds.size()) dispatch.operand_of(*embeds[i], operand, kFirstOperand + slot, slot);
      else dispatch.nothing(kFirstOperand + slot);
    }
    const bool is_layer_table = i < embeds.size() && params.embed[i].is_layer_table != 0;
    dispatch.step(kStepArgument + i, is_layer_table ? StepArray::kLayerToken : StepArray::kToken);
  }
  for (uint32_t i = 0; i < kMostOfKind; ++i) {
    if (i < tables.size()) {
      params.table[i] = tables[i]->params_as<RopeTableParams>();
      end += divide_up(params.table[i].pairs, kRowThreads);
    }
    params.end[2 + i] = end;
    for (uint32_t operand = 0; operand < 2; ++operand) {
      const uint32_t slot = 10 + 2 * i + operand;
      if (i < tables.size()) dispatch.operand_of(*tables[i], operand, kFirstOperand + slot, slot);
      else dispatch.nothing(kFirstOperand + slot);
    }
  }
  dispatch.step(kStepArgument + 2, StepArray::kSoftIndex).step(kStepArgument + 3, StepArray::kPosition);
  dispatch.params(params).grid(end, context.rows(), 1, kRowThreads);
  return Status::good();
}

/** Operands of a linear with one weight. */
constexpr uint32_t kLinearWeight = 6, kLinearOutput = 9;

/** True when a linear multiplies its rows with one weight and does nothing else to them. */
bool is_plain(const LinearParams& p) {
  return p.weights == 1 && p.epilogue == kLinearStore && p.has_residual == 0 && p.has_norm == 0 && p.weight[0].has_clip == 0;
}

/** linear → scale → norm in groups, of one row: products that only the norm reads. */
Status plan_linear_norm(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count) {
  if (context.rows() != 1 || index + 2 >= program.commands.size()) return Status::good();
  const Command& scaled = program.commands[index + 1];
  const Command& normed = program.commands[index + 2];
  if (scaled.kernel.family != "elementwise" || normed.kernel.family != "rms_norm") return Status::good();
  const auto& linear = context.params<LinearParams>();
  const auto& scale = scaled.params_as<ElementwiseParams>();
  const auto& norm = normed.params_as<RmsNormParams>();
  if (!is_plain(linear) || linear.gathers != 0 || runs_on_cores(context.traits, linear, linear.weight[0], 1)) return Status::good();
  if (scale.op != kElementwiseScale || norm.groups * norm.width != linear.weight[0].out) return Status::good();
  if (norm.groups < 8 || norm.width > kSimdgroupWidth) return Status::good();
  const Binding& product = context.command.bindings[kLinearOutput];
  if (!is_same(product, scaled.bindings[0]) || !is_same(scaled.bindings[2], normed.bindings[0])) return Status::good();
  // The values between are not stored, and the result may not lie where inputs are still read.
  const Binding& result = normed.bindings[3];
  if (!is_dead_after(program, index + 1, product) || !is_dead_after(program, index + 2, scaled.bindings[2])) {
    return Status::good();
  }
  if (overlaps(result, context.command.bindings[0]) || overlaps(result, normed.bindings[2])) return Status::good();

  *count = 3;
  const LinearWeightParams& weight = linear.weight[0];
  const LinearNormParams params = {linear.in,     weight.group,       weight.scale_type, norm.width, norm.gain_type,
                                   norm.has_gain, norm.has_residual, scale.scale,       norm.eps,   norm.output_scale};
  DispatchBuilder dispatch(context, "linear_norm", "linear_norm_" + kernel_format(weight.format, weight.bits));
  dispatch.params(params).operand(0);
  for (uint32_t part = 0; part < 3; ++part) dispatch.operand(kLinearWeight + part, 3 + part, 1 + part);
  dispatch.operand_of(normed, 1, 6, 4).operand_of(normed, 2, 7, 5).operand_of(normed, 3, 8, 6);
  Launch& launch = dispatch.launch();
  launch.alignment[0] = row_alignment(context.command, kLinearWeight, weight_row_bytes(weight.format, weight.bits, linear.in));
  launch.x_alignment = activation_alignment(operand_offset(context.command, 0), 4);
  dispatch.grid(norm.groups, 1, 1, kRowThreads);
  return Status::good();
}

/** attention → linear, of one row that sees so much that it is split: the linear folds what attention leaves. */
Status plan_attention_linear(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count) {
  if (context.rows() != 1 || index + 1 >= program.commands.size()) return Status::good();
  const Command& next = program.commands[index + 1];
  if (next.kernel.family != "linear" || context.shape.rows[next.row_set] != 1) return Status::good();
  const auto& attention = context.params<AttentionParams>();
  const auto& linear = next.params_as<LinearParams>();
  const LinearWeightParams& weight = linear.weight[0];
  // Tiles and tensor cores add in another order, and all steps of their program run on them.
  const bool is_tiled = linear.is_fast != 0 && linear.has_few_rows == 0;
  if (!is_plain(linear) || is_tiled || runs_on_cores(context.traits, linear, weight, 1)) return Status::good();
  if (linear.in != attention.heads * attention.width) return Status::good();
  const size_t factor_bytes = size_t{MARKBASE_ATTENTION_LINEAR_HEADS} * (2 * kMostSpans + 1) * sizeof(float);
  if (attention.heads > MARKBASE_ATTENTION_LINEAR_HEADS || linear.in * sizeof(float) + factor_bytes > kMaxSharedRowBytes) {
    return Status::good();
  }
  const Binding& row = context.command.bindings[kAttentionOutput];
  if (!is_same(row, next.bindings[0]) || !is_dead_after(program, index + 1, row)) return Status::good();

  AttentionSpans spans;
  if (Status status = plan_attention_spans(context, &spans); !status.ok()) return status;
  *count = 1;
  if (spans.count == 0) return Status::good();
  *count = 2;
  const AttentionLinearParams params = {linear.in,       weight.out,       weight.group, weight.scale_type,
                                    attention.width, attention.window, spans.count};
  DispatchBuilder dispatch(context, "attention_linear", "attention_linear_" + kernel_format(weight.format, weight.bits));
  dispatch.params(params).scratch(kFirstOperand, spans.offset, spans.size_bytes, false);
  for (uint32_t part = 0; part < 3; ++part) dispatch.operand_of(next, kLinearWeight + part, 3 + part, 1 + part);
  dispatch.operand_of(next, kLinearOutput, 6, 4);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, attention.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kVisibleEnd, attention.row_set));
  dispatch.launch().alignment[0] =
      row_alignment(next, kLinearWeight, weight_row_bytes(weight.format, weight.bits, linear.in));
  dispatch.shared_row(linear.in, chunk_columns(weight.format)).grid(divide_up(weight.out, kAttentionLinearOutputs), 1, 1, kRowThreads);
  return Status::good();
}

/** True when the threadgroup of a row may store it where `x` lies: elsewhere, or in the place of the same row. */
bool may_replace(const Binding& x, uint32_t x_stride, const Binding& y, uint32_t y_stride) {
  return !overlaps(x, y) || (is_same(x, y) && x_stride == y_stride);
}

/** rms_norm → rms_norm that adds it, of whole rows: what the first one makes is not stored. */
Status plan_norm_pair(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count) {
  constexpr uint32_t kRow = 0, kGain = 1, kResidual = 2, kResult = 3;
  if (!context.traits.has_tensor_cores() || index + 1 >= program.commands.size()) return Status::good();
  const Command& next = program.commands[index + 1];
  if (next.kernel.family != "rms_norm" || next.row_set != context.command.row_set) return Status::good();
  const RmsNormPairParams params = {context.params<RmsNormParams>(), next.params_as<RmsNormParams>()};
  const RmsNormParams &first = params.first, &second = params.second;
  const uint32_t threads = first.width <= kSimdgroupWidth ? kLanes : kRowThreads;
  if (first.groups != 1 || second.groups != 1 || first.width != second.width || first.width > MARKBASE_HELD_ELEMENTS * threads) {
    return Status::good();
  }
  const Binding& between = context.command.bindings[kResult];
  if (first.has_residual != 0 || second.has_residual == 0 || !is_same(between, next.bindings[kResidual]) ||
      first.y_stride != second.residual_stride || is_same(between, next.bindings[kRow])) {
    return Status::good();
  }
  // What is overwritten is no output of the program, which may have one in its place later.
  if (next_use(program, index + 1, between) != NextUse::kOverwrite && !is_dead_after(program, index + 1, between)) return Status::good();
  const Binding& result = next.bindings[kResult];
  if (!may_replace(context.command.bindings[kRow], first.x_stride, result, second.y_stride) ||
      !may_replace(next.bindings[kRow], second.x_stride, result, second.y_stride)) {
    return Status::good();
  }
  *count = 2;
  DispatchBuilder(context, "rms_norm_pair", "rms_norm_pair")
      .params(params)
      .operand(kRow)
      .operand(kGain)
      .operand_of(next, kRow, kFirstOperand + 2, 2)
      .operand_of(next, kGain, kFirstOperand + 3, 3)
      .operand_of(next, kResult, kFirstOperand + 4, 4)
      .grid(context.rows(), 1, 1, threads);
  return Status::good();
}

}  // namespace

Status plan_merged(const ProgramDescription& program, size_t index, CommandContext& context, size_t* count) {
  *count = 0;
  // What lies between merged commands is not stored, so that it cannot be looked at, nor timed.
  if (program.check_finite || program.measures_time) return Status::good();
  const std::string& family = context.command.kernel.family;
  if (family == "embed" || family == "rope_table") return plan_begin(program, index, context, count);
  if (family == "linear") return plan_linear_norm(program, index, context, count);
  if (family == "rms_norm") return plan_norm_pair(program, index, context, count);
  if (family == "attention") return plan_attention_linear(program, index, context, count);
  return Status::good();
}

}  // namespace markbase::gpu
