#include "program_object.h"

#include <algorithm>

#include "addon_data.h"
#include "status_error.h"
#include "typed_array.h"

namespace markbase {

Napi::Function ProgramObject::define(Napi::Env env) {
  return DefineClass(env, "NativeProgram",
                     {InstanceAccessor<&ProgramObject::plan>("plan"), InstanceMethod<&ProgramObject::plan_step>("planStep"),
                      InstanceMethod<&ProgramObject::seconds>("seconds"), InstanceMethod<&ProgramObject::run>("run"),
                      InstanceMethod<&ProgramObject::dispose>("dispose")});
}

Napi::Object ProgramObject::wrap(Napi::Env env, std::shared_ptr<Program> program, StepLimits limits) {
  Napi::Object object = AddonData::of(env).program_class.New({});
  Unwrap(object)->program_ = std::move(program);
  Unwrap(object)->limits_ = std::move(limits);
  return object;
}

const std::shared_ptr<Program>& ProgramObject::program() const {
  require(Env(), program_ != nullptr, "program", "one that was not disposed");
  return program_;
}

Napi::Value ProgramObject::plan(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const PlannedCommand& command : program()->plan()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("kernel", command.kernel);
    entry.Set("phases", command.phases);
    result.Set(index++, entry);
  }
  return result;
}

Napi::Value ProgramObject::plan_step(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto number = [&](size_t index) { return info[index].As<Napi::Number>().Uint32Value(); };
  std::vector<PlannedDispatch> dispatches;
  throw_unless_ok(env, program()->plan_step({number(0), number(1), number(2)}, &dispatches));
  Napi::Array result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const PlannedDispatch& dispatch : dispatches) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("kernel", dispatch.kernel);
    entry.Set("command", static_cast<double>(dispatch.command));
    Napi::Array groups = Napi::Array::New(env);
    for (uint32_t i = 0; i < 3; ++i) groups.Set(i, dispatch.groups[i]);
    entry.Set("groups", groups);
    entry.Set("threads", dispatch.threads);
    entry.Set("threadgroupBytes", dispatch.threadgroup_bytes);
    entry.Set("hasBarrier", dispatch.has_barrier);
    entry.Set("activationBytes", static_cast<double>(dispatch.activation_bytes));
    result.Set(index++, entry);
  }
  return result;
}

Napi::Value ProgramObject::seconds(const Napi::CallbackInfo& info) {
  const std::vector<double> seconds = program()->seconds();
  Napi::Float64Array result = Napi::Float64Array::New(info.Env(), seconds.size());
  std::copy(seconds.begin(), seconds.end(), result.Data());
  return result;
}

Napi::Value ProgramObject::run(const Napi::CallbackInfo& info) {
  return AddonData::of(info.Env()).step_ends.start(info.Env(), program(), object_argument(info, 0, "step"), limits_);
}

void ProgramObject::dispose(const Napi::CallbackInfo&) { program_.reset(); }

}  // namespace markbase
