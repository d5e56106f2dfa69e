#include "merge.h"

namespace markbase::gpu {

const MergePlanner* find_merge_planner(std::string_view name) {
  for (const MergePlanner* planner : {&kBeginStep, &kLinearScaleNorm, &kAttentionLinear, &kNormPair}) {
    if (planner->name == name) return planner;
  }
  return nullptr;
}

}  // namespace markbase::gpu
