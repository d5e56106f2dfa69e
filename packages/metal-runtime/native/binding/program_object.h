#pragma once

#include <napi.h>

#include <memory>

#include "device.h"
#include "step_limits.h"

namespace markbase {

/** NativeProgram in src/native.ts. */
class ProgramObject : public Napi::ObjectWrap<ProgramObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object wrap(Napi::Env env, std::shared_ptr<Program> program, StepLimits limits);
  explicit ProgramObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ProgramObject>(info) {}

 private:
  Napi::Value plan(const Napi::CallbackInfo& info);
  Napi::Value plan_step(const Napi::CallbackInfo& info);
  Napi::Value seconds(const Napi::CallbackInfo& info);
  Napi::Value run(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo& info);

  /** Throws kInvalidArgument after dispose(). */
  const std::shared_ptr<Program>& program() const;

  std::shared_ptr<Program> program_;
  StepLimits limits_;
};

}  // namespace markbase
