#pragma once

#include <vector>

#include "step_layout.h"

namespace markbase::gpu {

/** Kernels of row_copy.metal, for what the host does around the commands of a step. */
inline constexpr char kServiceSource[] = "row_copy";
inline constexpr char kCopyKernel[] = "copy_rows";
inline constexpr char kBytesKernel[] = "copy_bytes";
inline constexpr char kCheckKernel[] = "check_finite";

/** Brings the inputs of a step from its memory to their places in the arena: by kCopyKernel, bytes by kBytesKernel. */
std::vector<Dispatch> input_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout);

/** Brings the outputs that the step asks for from the arena to its memory. */
std::vector<Dispatch> output_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout);

/**
 * Looks for numbers that are not finite in what a command has written: activations, for the sampler's results are checked by
 * its caller.
 */
std::vector<Dispatch> finite_checks(const ProgramDescription& program, size_t command, const StepView& view, const StepLayout& layout);

}  // namespace markbase::gpu
