#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "step_planner.h"

namespace markbase::gpu {

/** How a GPU runs merged commands in one dispatch. */
struct MergePlanner {
  std::string_view name;  ///< as in Merge
  /** True if it can for a step of this shape; `context`: of the first command. */
  bool (*takes)(const CommandContext& context, std::span<const Command> commands);
  Status (*plan)(CommandContext& context, std::span<const Command> commands);
};

/** True if the commands are of these families, in this order. */
bool are_of(std::span<const Command> commands, std::initializer_list<std::string_view> families);

/** Null for a merge whose commands GPUs run separately. */
const MergePlanner* find_merge_planner(std::string_view name);

extern const MergePlanner kBeginStep;
extern const MergePlanner kLinearScaleNorm;
extern const MergePlanner kAttentionLinear;
extern const MergePlanner kNormPair;

}  // namespace markbase::gpu
