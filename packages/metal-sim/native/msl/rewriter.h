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
 * Turns preprocessed Metal into C++ for the headers in msl/include. It moves what C++ has no place for and keeps the rest,
 * line by line: address spaces go away, attributes of kernel parameters become tables, threadgroup variables become
 * references into memory of the group, function constants become variables, `T(...)` of vectors a function call.
 */
std::string rewrite(const std::string& preprocessed);

/**
 * Turns preprocessed Metal into C++ in clang's CUDA mode for the headers in msl/ptx: the same rewriting, but kernels become
 * entries under their host names. Before the source stands one comment an entry, "//! name 0:value 2:pointer threadgroup":
 * its parameters by buffer index, and whether it has threadgroup memory whose size the launch gives.
 */
std::string rewrite_for_ptx(const std::string& preprocessed);

/**
 * Turns preprocessed Metal into C++ for OpenCL, whose address spaces are types, for a compiler that only checks. Refuses
 * first what that language allows and Metal does not.
 */
std::string rewrite_strictly(const std::string& preprocessed);

}  // namespace msl
