#include "rms_norm_params.h"

#include "merge.h"
#include "rms_norm_pair.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kX = 0, kGain = 1, kResult = 3;

uint32_t threads_of(const RmsNormParams& p) { return p.width <= kSimdgroupWidth ? kLanes : kRowThreads; }

/** Rows that fit into the registers of one threadgroup; only NVIDIA GPUs have the kernel. */
bool takes(const CommandContext& context, std::span<const Command> commands) {
  if (!are_of(commands, {"rms_norm", "rms_norm"})) return false;
  const auto& p = context.params<RmsNormParams>();
  return context.traits.has_tensor_cores() && p.width <= MARKBASE_HELD_ELEMENTS * threads_of(p);
}

Status plan(CommandContext& context, std::span<const Command> commands) {
  const Command& second = commands[1];
  const RmsNormPairParams params = {context.params<RmsNormParams>(), second.params_as<RmsNormParams>()};
  DispatchBuilder(context, "rms_norm_pair", "rms_norm_pair")
      .params(params)
      .operand(kX)
      .operand(kGain)
      .operand_of(second, kX, kFirstOperand + 2, 2)
      .operand_of(second, kGain, kFirstOperand + 3, 3)
      .operand_of(second, kResult, kFirstOperand + 4, 4)
      .grid(context.rows(), 1, 1, threads_of(params.first));
  return Status::good();
}

}  // namespace

const MergePlanner kNormPair = {"norm-pair", takes, plan};

}  // namespace markbase::gpu
