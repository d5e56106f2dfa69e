#pragma once

#include "device.h"
#include "dispatch_builder.h"
#include "family_list.h"

namespace markbase::gpu {

/** Turns a command into dispatches for one shape of steps; one function a family. */
using CommandPlanner = Status (*)(CommandContext& context);

#define MARKBASE_PLANNER(family, Name) Status plan_##family(CommandContext& context);
MARKBASE_FAMILIES(MARKBASE_PLANNER)
#undef MARKBASE_PLANNER

/** All dispatches of a step of a program, with the barriers between them. kDevice when there is no kernel for a command. */
Status plan_step(const ProgramDescription& program, const StepShape& shape, const GpuTraits& traits, StepPlan* out);

/**
 * What `plan_step` gives for a step of a size, for looking at it. Activations are counted as large as their part of the arena
 * is for the rows of the step, scratch and results as large as they are.
 */
Status list_dispatches(const ProgramDescription& program, const StepSize& size, const GpuTraits& traits, std::vector<PlannedDispatch>* out);

/** What the commands of a program become in a step of one row. */
std::vector<PlannedCommand> list_commands(const ProgramDescription& program, const GpuTraits& traits);

/** An error for what the kernels of a family do not do. */
Status unsupported(const Command& command, std::string reason);

}  // namespace markbase::gpu
