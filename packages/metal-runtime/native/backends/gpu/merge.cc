#include "merge.h"

#include <algorithm>

namespace markbase::gpu {

bool are_of(std::span<const Command> commands, std::initializer_list<std::string_view> families) {
  return std::equal(commands.begin(), commands.end(), families.begin(), families.end(),
                    [](const Command& command, std::string_view family) { return command.kernel.family == family; });
}

const MergePlanner* find_merge_planner(std::string_view name) {
  for (const MergePlanner* planner : {&kBeginStep, &kLinearScaleNorm, &kAttentionLinear, &kNormPair}) {
    if (planner->name == name) return planner;
  }
  // Reached only by a recorder that proposes merges of another build.
  return nullptr;
}

}  // namespace markbase::gpu
