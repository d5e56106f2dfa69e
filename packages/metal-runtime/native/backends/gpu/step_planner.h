#pragma once

#include "device.h"
#include "dispatch_builder.h"

namespace markbase::gpu {

/** Turns a command into dispatches for one shape of steps; one function a family. */
using CommandPlanner = Status (*)(CommandContext& context);

#define MARKBASE_PLANNER(family) Status plan_##family(CommandContext& context)
MARKBASE_PLANNER(embed);
MARKBASE_PLANNER(rms_norm);
MARKBASE_PLANNER(linear);
MARKBASE_PLANNER(elementwise);
MARKBASE_PLANNER(rope_table);
MARKBASE_PLANNER(rope);
MARKBASE_PLANNER(kv_append);
MARKBASE_PLANNER(kv_copy);
MARKBASE_PLANNER(causal_conv);
MARKBASE_PLANNER(column_affine);
MARKBASE_PLANNER(conv2d);
MARKBASE_PLANNER(layer_norm);
MARKBASE_PLANNER(local_attention);
MARKBASE_PLANNER(pool_rows);
MARKBASE_PLANNER(segment_attention);
MARKBASE_PLANNER(attention);
MARKBASE_PLANNER(gather_rows);
MARKBASE_PLANNER(moe_route);
MARKBASE_PLANNER(moe_linear);
MARKBASE_PLANNER(moe_combine);
MARKBASE_PLANNER(sample);
#undef MARKBASE_PLANNER

/** All dispatches of a step of a program, with the barriers between them. kDevice when there is no kernel for a command. */
Status plan_step(const ProgramDescription& program, const StepShape& shape, const GpuTraits& traits, StepPlan* out);

/**
 * What `plan_step` gives for a step of a size, for looking at it. Activations are counted as large as their part of the arena
 * is for the rows of the step, scratch and results as large as they are.
 */
Status list_dispatches(const ProgramDescription& program, const StepSize& size, const GpuTraits& traits,
                       std::vector<PlannedDispatch>* out);

/** What the commands of a program become in a step of one row. */
std::vector<PlannedCommand> list_commands(const ProgramDescription& program, const GpuTraits& traits);

/** An error for what the kernels of a family do not do. */
Status unsupported(const Command& command, std::string reason);

}  // namespace markbase::gpu
