#include <algorithm>

#include "embed_params.h"
#include "rope_table/rope_table_params.h"

#include "begin_step.h"
#include "merge.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kMostOfKind = 2;  ///< embeddings, and rope tables, of one dispatch
constexpr uint32_t kEmbedOperands = 5, kTableOperands = 2;

bool takes(const CommandContext&, std::span<const Command> commands) {
  const auto has_few = [&](std::string_view family, size_t* count) {
    *count = std::count_if(commands.begin(), commands.end(), [&](const Command& each) { return each.kernel.family == family; });
    return *count <= kMostOfKind;
  };
  size_t embeds = 0, tables = 0;
  return has_few("embed", &embeds) && has_few("rope_table", &tables) && embeds + tables == commands.size();
}

Status plan(CommandContext& context, std::span<const Command> commands) {
  std::vector<const Command*> embeds, tables;
  for (const Command& command : commands) (command.kernel.family == "embed" ? embeds : tables).push_back(&command);

  BeginStepParams params{};
  DispatchBuilder dispatch(context, "begin_step", "begin_step");
  uint32_t slot = 0, end = 0;
  const auto bind = [&](const Command* command, uint32_t operands) {
    for (uint32_t operand = 0; operand < operands; ++operand, ++slot) {
      if (command) dispatch.operand_of(*command, operand, kFirstOperand + slot, slot);
      else dispatch.nothing(kFirstOperand + slot);
    }
  };
  for (uint32_t i = 0; i < kMostOfKind; ++i) {
    const Command* embed = i < embeds.size() ? embeds[i] : nullptr;
    if (embed) {
      params.embed[i] = embed->params_as<EmbedParams>();
      end += divide_up(params.embed[i].width, kRowThreads);
    }
    params.end[i] = end;
    bind(embed, kEmbedOperands);
    dispatch.step(kStepArgument + i, params.embed[i].is_layer_table != 0 ? StepArray::kLayerToken : StepArray::kToken);
  }
  for (uint32_t i = 0; i < kMostOfKind; ++i) {
    const Command* table = i < tables.size() ? tables[i] : nullptr;
    if (table) {
      params.table[i] = table->params_as<RopeTableParams>();
      end += divide_up(params.table[i].pairs, kRowThreads);
    }
    params.end[kMostOfKind + i] = end;
    bind(table, kTableOperands);
  }
  dispatch.step(kStepArgument + 2, StepArray::kSoftIndex).step(kStepArgument + 3, StepArray::kPosition);
  dispatch.params(params).grid(end, context.rows(), 1, kRowThreads);
  return Status::good();
}

}  // namespace

const MergePlanner kBeginStep = {"begin-step", takes, plan};

}  // namespace markbase::gpu
