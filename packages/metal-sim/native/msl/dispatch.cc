#include "dispatch.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <algorithm>
#include <random>

#include "access_checker.h"
#include "library.h"
#include "signals.h"
#include "threadgroup.h"

namespace msl {
namespace {

/** Sets the library's function constants, which keep their values until its next dispatch. */
void set_constants(const Dispatch& dispatch) {
  const Module& module = dispatch.library->module();
  for (unsigned i = 0; i < module.constant_count; ++i) {
    const ConstantRecord& record = module.constants[i];
    *record.is_defined = false;
    std::memset(record.address, 0, record.size);
    for (const ConstantValue& value : dispatch.constants) {
      if (value.index != record.index) continue;
      *record.is_defined = true;
      std::memcpy(record.address, value.bytes.data(), std::min<size_t>(record.size, value.bytes.size()));
    }
  }
  module.derive_constants();
}

/** All threadgroups of the grid in execution order. */
std::vector<std::array<unsigned, 3>> group_order(const Dispatch& dispatch, const RunOptions& options) {
  unsigned counts[3];
  for (int axis = 0; axis < 3; ++axis) {
    counts[axis] = (dispatch.threads_per_grid[axis] + dispatch.threads_per_group[axis] - 1) / dispatch.threads_per_group[axis];
  }
  std::vector<std::array<unsigned, 3>> groups;
  for (unsigned z = 0; z < counts[2]; ++z) {
    for (unsigned y = 0; y < counts[1]; ++y) {
      for (unsigned x = 0; x < counts[0]; ++x) groups.push_back({x, y, z});
    }
  }
  if (options.order == Order::kReverse) std::reverse(groups.begin(), groups.end());
  if (options.order == Order::kRandom) {
    std::mt19937_64 random(options.seed);
    std::shuffle(groups.begin(), groups.end(), random);
  }
  return groups;
}

}  // namespace

RunOptions options_from_environment() {
  RunOptions options;
  if (const char* timeout = std::getenv("METAL_SIM_TIMEOUT")) options.timeout_seconds = std::atof(timeout);
  if (const char* outputs = std::getenv("METAL_SIM_OUTPUTS")) options.needs_outputs = std::strcmp(outputs, "1") == 0;
  if (const char* place = std::getenv("METAL_SIM_MUTATE")) {
    const std::string text = place;
    const size_t colon = std::min(text.rfind(':'), text.size());
    options.mutated_file = text.substr(0, colon);
    options.mutated_line = colon < text.size() ? static_cast<unsigned>(std::atoi(text.c_str() + colon + 1)) : 0;
  }
  const char* order = std::getenv("METAL_SIM_ORDER");
  if (!order) return options;
  if (std::strcmp(order, "reverse") == 0) options.order = Order::kReverse;
  if (std::strncmp(order, "random", 6) == 0) {
    options.order = Order::kRandom;
    if (order[6] == ':') options.seed = std::strtoull(order + 7, nullptr, 10);
  }
  return options;
}

std::optional<Fault> run(const Dispatch& dispatch, const RunOptions& options) {
  // Function constants are variables of the library, and a library may be shared.
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  SignalScope signals(options.timeout_seconds);
  set_constants(dispatch);
  GroupRunner runner(dispatch, options);
  std::optional<AccessChecker> checker;
  if (dispatch.tracker && dispatch.library->has_checks()) {
    checker.emplace(dispatch, *dispatch.tracker);
    runner.set_checker(&*checker);
  }
  for (const auto& group : group_order(dispatch, options)) {
    if (auto fault = runner.run(group.data())) return fault;
  }
  if (checker) checker->end_dispatch(dispatch.loads);
  if (!checker || !options.needs_outputs) return std::nullopt;
  const auto unwritten = checker->unwritten_outputs();
  if (unwritten.empty()) return std::nullopt;
  return Fault{.kind = FaultKind::kUnwritten,
               .kernel = dispatch.kernel->name,
               .message = "unwritten output: nothing was written to " + unwritten.front(),
               .file = {},
               .line = dispatch.kernel->line};
}

}  // namespace msl
