#include "elementwise/elementwise_params.h"
#include "linear_params.h"
#include "rms_norm/rms_norm_params.h"

#include "linear_norm.h"
#include "merge.h"
#include "plan_cores.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Number of groups that keeps a GPU busy with one threadgroup each; with fewer, threadgroups of a few outputs each are faster. */
constexpr uint32_t kLeastGroups = 8;
constexpr uint32_t kLinear = 0, kScale = 1, kNorm = 2;

/** One row that would run on the kernels whose bits linear_norm reproduces. */
bool takes(const CommandContext& context, std::span<const Command> commands) {
  if (!are_of(commands, {"linear", "elementwise", "rms_norm"})) return false;
  const auto& linear = context.params<LinearParams>();
  const auto& norm = commands[kNorm].params_as<RmsNormParams>();
  if (context.rows() != 1 || runs_on_cores(context.traits, linear, linear.weight[0], 1)) return false;
  return norm.groups >= kLeastGroups && norm.width <= kSimdgroupWidth;
}

Status plan(CommandContext& context, std::span<const Command> commands) {
  const auto& linear = context.params<LinearParams>();
  const Command& normed = commands[kNorm];
  const auto& norm = normed.params_as<RmsNormParams>();
  const LinearWeightParams& weight = linear.weight[0];
  const LinearNormParams params = {
      linear.in,      weight.group,     weight.scale_type, norm.width,
      norm.gain_type, norm.has_gain,    norm.has_residual, commands[kScale].params_as<ElementwiseParams>().scale,
      norm.eps,       norm.output_scale};
  DispatchBuilder dispatch(context, "linear_norm", "linear_norm_" + kernel_format(weight.format, weight.bits));
  dispatch.params(params).operand(kLinearX);
  for (uint32_t part = 0; part < 3; ++part) dispatch.operand(kFirstWeight + part, 3 + part, 1 + part);
  dispatch.operand_of(normed, 1, 6, 4).operand_of(normed, 2, 7, 5).operand_of(normed, 3, 8, 6);
  Launch& launch = dispatch.launch();
  launch.alignment[0] = row_alignment(commands[kLinear], kFirstWeight, weight_row_bytes(weight.format, weight.bits, linear.in));
  launch.x_alignment = alignment_of(operand_offset(commands[kLinear], kLinearX));
  dispatch.grid(norm.groups, 1, 1, kRowThreads);
  return Status::good();
}

}  // namespace

const MergePlanner kLinearScaleNorm = {"linear-scale-norm", takes, plan};

}  // namespace markbase::gpu
