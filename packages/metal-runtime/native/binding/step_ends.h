#pragma once

#include <napi.h>

#include <memory>

#include "device.h"
#include "step_arrays.h"

namespace markbase {

/** Delivers the completion of steps to the JavaScript thread. The environment stays alive while a step runs. */
class StepEnds {
 public:
  explicit StepEnds(Napi::Env env);

  /** Starts a step of a program; the promise settles when it has ended. */
  Napi::Promise start(Napi::Env env, std::shared_ptr<Program> program, Napi::Object step, const StepLimits& limits);

 private:
  struct RunningStep;
  static void settle(Napi::Env env, Napi::Function, StepEnds* ends, RunningStep* step);
  using Queue = Napi::TypedThreadSafeFunction<StepEnds, RunningStep, settle>;

  Queue queue_;
  size_t running_ = 0;
};

}  // namespace markbase
