#pragma once

#include "device.h"
#include "dispatch_builder.h"
#include "family_list.h"

namespace markbase::gpu {

/** Turns a command into dispatches for one shape of steps; one function per family. */
using CommandPlanner = Status (*)(CommandContext& context);

#define MARKBASE_PLANNER(family, Name) Status plan_##family(CommandContext& context);
MARKBASE_FAMILIES(MARKBASE_PLANNER)
#undef MARKBASE_PLANNER

/** All dispatches of a step of a program, with barriers. kDevice if a command has no kernel. */
Status plan_step(const ProgramDescription& program, const StepShape& shape, const GpuTraits& traits, StepPlan* out);

/**
 * The result of `plan_step` for a step of a given size, for inspection. Activations are counted with their size for the rows of the step,
 * scratch and results with their full size.
 */
Status list_dispatches(const ProgramDescription& program, const StepSize& size, const GpuTraits& traits, std::vector<PlannedDispatch>* out);

/** The dispatches of the commands of a program in a step of one row. */
std::vector<PlannedCommand> list_commands(const ProgramDescription& program, const GpuTraits& traits);

/** The error for an operation that the kernels of a family do not support. */
Status unsupported(const Command& command, std::string reason);

}  // namespace markbase::gpu
