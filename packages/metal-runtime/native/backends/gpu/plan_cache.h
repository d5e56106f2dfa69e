#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "dispatch.h"

namespace markbase::gpu {

/**
 * The most recent plans of a program, as bound by a backend: for chunks of a prompt, a shorter last chunk, and single tokens as the context
 * grows. `Bound` has a StepPlan named `plan`.
 */
template <typename Bound>
class PlanCache {
 public:
  /** The plan for a shape, or null. */
  std::shared_ptr<const Bound> find(const StepShape& shape) {
    const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& bound) { return bound->plan.shape == shape; });
    if (known == plans_.end()) return nullptr;
    std::rotate(plans_.begin(), known, known + 1);
    return plans_.front();
  }
  void add(std::shared_ptr<const Bound> bound) {
    plans_.push_front(std::move(bound));
    if (plans_.size() > kMostPlans) plans_.pop_back();
  }
  void clear() { plans_.clear(); }

 private:
  static constexpr size_t kMostPlans = 16;
  std::deque<std::shared_ptr<const Bound>> plans_;  ///< most recent first
};

}  // namespace markbase::gpu
