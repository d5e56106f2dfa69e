#pragma once

namespace msl {

/** While it exists, faults of the kernel that this thread runs end its dispatch instead of the process. */
class SignalScope {
 public:
  explicit SignalScope(double timeout_seconds);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
};

}  // namespace msl
