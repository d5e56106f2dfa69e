#pragma once

#include "dispatch.h"
#include "step.h"

namespace markbase::gpu {

/** The shape of a step, with its positions rounded for the plan. */
StepShape shape_of(const StepView& view);

/** The shapes of the widest and the narrowest step of a program, which are planned when the program is created. */
StepShape widest_shape(const ProgramDescription& program);
StepShape narrowest_shape(const ProgramDescription& program);

}  // namespace markbase::gpu
