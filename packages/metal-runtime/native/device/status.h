#pragma once

#include <string>
#include <utility>

namespace markbase {

/** Errors below the binding, which converts each code to the class that TypeScript registered. */
enum class StatusCode {
  kOk,
  kInvalidArgument,    ///< a caller's mistake; `where` names the argument
  kFileAccess,         ///< a file could not be opened or mapped; `where` is its path
  kCorruptFile,        ///< a mapped file changed or shrank; `where` is its path
  kOutOfMemory,        ///< `bytes` could not be allocated for `where`
  kNonFinite,          ///< a NaN or infinity in the output of `where`
  kDeviceUnavailable,  ///< the device kind `where` does not exist here
  kDevice,             ///< the device failed in kernel `where`
  kCancelled,          ///< the caller asked to stop
};

/** Result of an operation below the binding, where exceptions are not used. */
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string where;    ///< argument, path, kernel or label, as the code says
  std::string message;  ///< expected, received, what to do
  size_t bytes = 0;     ///< for kOutOfMemory

  bool ok() const { return code == StatusCode::kOk; }
  static Status good() { return {}; }
  static Status error(StatusCode code, std::string where, std::string message = {}, size_t bytes = 0) {
    return {code, std::move(where), std::move(message), bytes};
  }
};

}  // namespace markbase
