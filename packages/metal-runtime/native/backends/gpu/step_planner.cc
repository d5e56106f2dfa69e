#include "step_planner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "data_flow.h"
#include "merge.h"

namespace markbase::gpu {

namespace {

const std::unordered_map<std::string, CommandPlanner>& planners() {
#define MARKBASE_PLANNER(family, Name) {#family, plan_##family},
  static const std::unordered_map<std::string, CommandPlanner> table = {MARKBASE_FAMILIES(MARKBASE_PLANNER)};
#undef MARKBASE_PLANNER
  return table;
}

constexpr size_t kResultAlignment = 256;

size_t align_result(size_t bytes) { return (bytes + kResultAlignment - 1) / kResultAlignment * kResultAlignment; }

/** Redirects the sampler's results from the arena to memory that the host reads. */
void redirect_results(const ProgramDescription& program, Dispatch* dispatch) {
  const ResultLayout layout(program.max_outputs);
  const SamplerPorts& ports = program.sampler;
  for (Argument& argument : dispatch->arguments) {
    if (argument.kind != Argument::Kind::kArena || !argument.is_written) continue;
    for (const auto& [arena, result] :
         {std::pair{ports.tokens, layout.tokens}, std::pair{ports.logprobs, layout.logprobs},
          std::pair{ports.top_tokens, layout.top_tokens}, std::pair{ports.top_logprobs, layout.top_logprobs}}) {
      if (argument.offset != arena) continue;
      argument.kind = Argument::Kind::kResult;
      argument.offset = result;
      break;
    }
  }
}

/** The merge that begins with a command, or null. */
const Merge* merge_from(const ProgramDescription& program, size_t command) {
  const auto found = std::lower_bound(program.merges.begin(), program.merges.end(), command,
                                      [](const Merge& merge, size_t first) { return merge.first < first; });
  return found != program.merges.end() && found->first == command ? &*found : nullptr;
}

/** Bytes of all activations bound to a dispatch, for the rows of the step. */
uint64_t activation_bytes(const ProgramDescription& program, const StepShape& shape, const Dispatch& dispatch) {
  const RowSet set = program.commands[dispatch.command].row_set;
  const uint32_t most_rows = set == kOutputRows ? program.max_outputs : program.max_rows;
  uint64_t bytes = 0;
  for (const Argument& argument : dispatch.arguments) {
    if (argument.kind == Argument::Kind::kScratch) bytes += argument.size_bytes;
    if (argument.kind != Argument::Kind::kArena && argument.kind != Argument::Kind::kResult) continue;
    bytes += uint64_t{argument.size_bytes} * shape.rows[set] / std::max(most_rows, 1u);
  }
  return bytes;
}

}  // namespace

ResultLayout::ResultLayout(uint32_t max_outputs)
    : tokens(0),
      logprobs(align_result(max_outputs * sizeof(int32_t))),
      top_tokens(logprobs + align_result(max_outputs * sizeof(float))),
      top_logprobs(top_tokens + align_result(max_outputs * kMaxTopLogprobs * sizeof(int32_t))),
      size_bytes(top_logprobs + align_result(max_outputs * kMaxTopLogprobs * sizeof(float))) {}

Status unsupported(const Command& command, std::string reason) {
  return Status::error(StatusCode::kDevice, command.kernel.name(),
                       "there is no GPU kernel for \"" + command.label + "\": " + std::move(reason));
}

Status plan_step(const ProgramDescription& program, const StepShape& shape, const GpuTraits& traits, StepPlan* out) {
  out->shape = shape;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command& command = program.commands[i];
    const auto planner = planners().find(command.kernel.family);
    if (planner == planners().end()) return unsupported(command, "its family is unknown");
    CommandContext context{.command = command,
                           .index = i,
                           .shape = shape,
                           .traits = traits,
                           .scratch = Scratch(traits.has_tensor_cores() ? kCounterBytes : 0),
                           .out = &out->dispatches};
    if (context.rows() == 0) continue;
    const Merge* merge = merge_from(program, i);
    const std::span parts(&command, merge ? merge->count : 1);
    const MergePlanner* merged = merge ? find_merge_planner(merge->name) : nullptr;
    if (merged && !merged->takes(context, parts)) merged = nullptr;
    if (Status status = merged ? merged->plan(context, parts) : planner->second(context); !status.ok()) return status;
    if (program.has_sampler && command.kernel.family == "sample") {
      for (Dispatch& dispatch : out->dispatches) {
        if (dispatch.command == i) redirect_results(program, &dispatch);
      }
    }
    out->scratch_bytes = std::max(out->scratch_bytes, context.scratch.size_bytes());
    if (merged) i += parts.size() - 1;
  }
  place_barriers(&out->dispatches);
  return Status::good();
}

Status list_dispatches(const ProgramDescription& program,
                       const StepSize& size,
                       const GpuTraits& traits,
                       std::vector<PlannedDispatch>* out) {
  StepPlan plan;
  const StepShape shape = {{size.rows, size.outputs}, round_positions(size.positions), 0};
  if (Status status = plan_step(program, shape, traits, &plan); !status.ok()) return status;
  for (const Dispatch& dispatch : plan.dispatches) {
    out->push_back({dispatch.kernel,
                    dispatch.command,
                    {dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]},
                    dispatch.threads,
                    dispatch.threadgroup_bytes,
                    dispatch.needs_barrier,
                    activation_bytes(program, shape, dispatch)});
  }
  return Status::good();
}

std::vector<PlannedCommand> list_commands(const ProgramDescription& program, const GpuTraits& traits) {
  std::vector<PlannedDispatch> dispatches;
  const bool is_planned = list_dispatches(program, {1, std::min(program.max_outputs, 1u), 1}, traits, &dispatches).ok();
  std::vector<PlannedCommand> planned;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const auto count =
        std::count_if(dispatches.begin(), dispatches.end(), [&](const PlannedDispatch& dispatch) { return dispatch.command == i; });
    planned.push_back({program.commands[i].kernel.name(), is_planned ? static_cast<uint32_t>(count) : 0});
  }
  return planned;
}

}  // namespace markbase::gpu
