#include "attention_params.h"
#include "linear/linear_params.h"

#include "attention_linear.h"
#include "merge.h"
#include "linear/plan_cores.h"
#include "plan_spans.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Outputs of a threadgroup: four per simdgroup. */
constexpr uint32_t kOutputs = 4 * kRowSimdgroups;

/** Threadgroup memory for the factors of the spans, in addition to the row. */
constexpr size_t kFactorBytes = size_t{MARKBASE_ATTENTION_LINEAR_HEADS} * (2 * kMostSpans + 1) * sizeof(float);

/** One split row, and a linear that runs on kernels whose bits attention_linear reproduces. */
bool takes(const CommandContext& context, std::span<const Command> commands) {
  if (!are_of(commands, {"attention", "linear"})) return false;
  const Command& next = commands[1];
  const auto& linear = next.params_as<LinearParams>();
  if (context.rows() != 1 || context.shape.rows[next.row_set] != 1 || count_spans(context) == 0) return false;
  // Tiles and tensor cores add in another order, and are used for all steps of a program.
  if (is_tiled(context, linear) || runs_on_cores(context.traits, linear, linear.weight[0], 1)) return false;
  return context.params<AttentionParams>().heads <= MARKBASE_ATTENTION_LINEAR_HEADS &&
         linear.in * sizeof(float) + kFactorBytes <= kMaxSharedRowBytes;
}

Status plan(CommandContext& context, std::span<const Command> commands) {
  AttentionSpans spans;
  if (Status status = plan_attention_spans(context, &spans); !status.ok()) return status;
  const Command& next = commands[1];
  const auto& attention = context.params<AttentionParams>();
  const auto& linear = next.params_as<LinearParams>();
  const LinearWeightParams& weight = linear.weight[0];
  const AttentionLinearParams params = {linear.in,       weight.out,       weight.group, weight.scale_type,
                                        attention.width, attention.window, spans.count};
  DispatchBuilder dispatch(context, "attention_linear", "attention_linear_" + kernel_format(weight.format, weight.bits));
  dispatch.params(params).scratch(kFirstOperand, spans.offset, spans.size_bytes, false);
  for (uint32_t part = 0; part < 3; ++part) dispatch.operand_of(next, kFirstWeight + part, 3 + part, 1 + part);
  dispatch.operand_of(next, kFirstWeight + 3, 6, 4);
  dispatch.step(kStepArgument, of_set(StepArray::kPosition, attention.row_set));
  dispatch.step(kStepArgument + 1, of_set(StepArray::kVisibleEnd, attention.row_set));
  dispatch.launch().alignment[0] = row_alignment(next, kFirstWeight, weight_row_bytes(weight.format, weight.bits, linear.in));
  dispatch.shared_row(linear.in, chunk_columns(weight.format)).grid(divide_up(weight.out, kOutputs), 1, 1, kRowThreads);
  return Status::good();
}

}  // namespace

const MergePlanner kAttentionLinear = {"attention-linear", takes, plan};

}  // namespace markbase::gpu
