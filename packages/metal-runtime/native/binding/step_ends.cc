#include "step_ends.h"

#include <utility>

#include "status_error.h"

namespace markbase {

/** Everything that a step needs until it has ended; created and destroyed on the JavaScript thread. */
struct StepEnds::RunningStep {
  RunningStep(Napi::Env env, std::shared_ptr<Program> owner, Napi::Object step, const StepLimits& limits)
      : deferred(Napi::Promise::Deferred::New(env)), program(std::move(owner)), arrays(step, limits) {}

  Napi::Promise::Deferred deferred;
  std::shared_ptr<Program> program;
  StepArrays arrays;
  Status status;
};

StepEnds::StepEnds(Napi::Env env) : queue_(Queue::New(env, "markbase steps", 0, 1, this)) {
  // An idle queue must not keep the process alive.
  queue_.Unref(env);
}

Napi::Promise StepEnds::start(Napi::Env env, std::shared_ptr<Program> program, Napi::Object step, const StepLimits& limits) {
  auto running = std::make_unique<RunningStep>(env, std::move(program), step, limits);
  const Napi::Promise promise = running->deferred.Promise();
  if (running_++ == 0) queue_.Ref(env);
  RunningStep* const raw = running.release();
  raw->program->start(raw->arrays.call(), [this, raw](Status status) {
    raw->status = std::move(status);
    queue_.NonBlockingCall(raw);
  });
  return promise;
}

void StepEnds::settle(Napi::Env env, Napi::Function, StepEnds* ends, RunningStep* raw) {
  const std::unique_ptr<RunningStep> step(raw);
  if (env == nullptr) {
    // The environment has ended, and its references with it.
    step->arrays.abandon();
    return;
  }
  if (--ends->running_ == 0) ends->queue_.Unref(env);
  if (step->status.ok()) step->deferred.Resolve(env.Undefined());
  else step->deferred.Reject(to_error(env, step->status).Value());
}

}  // namespace markbase
