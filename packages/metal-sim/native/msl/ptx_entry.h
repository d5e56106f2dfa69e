#pragma once

#include <string>
#include <vector>

#include "kernel_parameters.h"

namespace msl {

/** One entry of PTX. */
struct EntryText {
  std::string definition;  ///< C++ for msl/ptx/device.h
  std::string table;       ///< "//! name 0:value 2:pointer threadgroup\n"
};

/**
 * An entry that calls a kernel. It takes values and pointers of buffers in ascending index order; everything else comes from special
 * registers and shared memory. `quoted_name`: its host name as a literal; `function`: the kernel; `max_threads`: "0" or a bound. Throws
 * RewriteError.
 */
EntryText describe_entry(const std::string& quoted_name,
                         const std::string& function,
                         const std::vector<ParameterText>& parameters,
                         const std::string& max_threads);

}  // namespace msl
