#pragma once

#include <stdexcept>
#include <string>

namespace msl {

/** Metal source that the rewriter does not understand; the message starts with file and line. */
class RewriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/**
 * Rewrites preprocessed Metal as C++ for the headers in msl/include. It moves what C++ cannot express and keeps the rest line by line:
 * address spaces are removed, attributes of kernel parameters become tables, threadgroup variables become references to memory of the
 * group, function constants become variables, and `T(...)` of vectors becomes a function call.
 */
std::string rewrite(const std::string& preprocessed);

/**
 * Rewrites preprocessed Metal as C++ in clang's CUDA mode for the headers in msl/ptx: the same rewriting, but kernels become entries with
 * their host names. The output begins with one comment per entry, "//! name 0:value 2:pointer threadgroup": its parameters by buffer index,
 * and whether it has threadgroup memory whose size is set by the launch.
 */
std::string rewrite_for_ptx(const std::string& preprocessed);

/**
 * Rewrites preprocessed Metal as C++ for OpenCL, in which address spaces are types, for a compiler that only checks. First rejects what
 * that language allows but Metal does not.
 */
std::string rewrite_strictly(const std::string& preprocessed);

}  // namespace msl
