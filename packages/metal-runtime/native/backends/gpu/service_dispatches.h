#pragma once

#include <vector>

#include "step_layout.h"

namespace markbase::gpu {

/** Kernels of row_copy.metal, which run around the commands of a step. */
inline constexpr char kServiceSource[] = "row_copy";
inline constexpr char kCopyKernel[] = "copy_rows";
inline constexpr char kBytesKernel[] = "copy_bytes";
inline constexpr char kCheckKernel[] = "check_finite";

/** Copies the inputs of a step from its memory to the arena, with kCopyKernel; inputs of bytes with kBytesKernel. */
std::vector<Dispatch> input_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout);

/** Copies the requested outputs of the step from the arena to its memory. */
std::vector<Dispatch> output_copies(const ProgramDescription& program, const StepCall& step, const StepLayout& layout);

/**
 * Checks the activations that a command has written for non-finite numbers. The caller checks the sampler's results.
 */
std::vector<Dispatch> finite_checks(const ProgramDescription& program, size_t command, const StepView& view, const StepLayout& layout);

}  // namespace markbase::gpu
