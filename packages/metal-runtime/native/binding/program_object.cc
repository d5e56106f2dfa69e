#include "program_object.h"

#include <algorithm>

#include "addon_data.h"
#include "async_task.h"
#include "step_arrays.h"

namespace markbase {

Napi::Function ProgramObject::define(Napi::Env env) {
  return DefineClass(env, "NativeProgram",
                     {InstanceAccessor<&ProgramObject::plan>("plan"), InstanceMethod<&ProgramObject::seconds>("seconds"),
                      InstanceMethod<&ProgramObject::run>("run"),
                      InstanceMethod<&ProgramObject::dispose>("dispose")});
}

Napi::Object ProgramObject::wrap(Napi::Env env, std::shared_ptr<Program> program) {
  Napi::Object object = AddonData::of(env).program_class.New({});
  Unwrap(object)->program_ = std::move(program);
  return object;
}

Napi::Value ProgramObject::plan(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const PlannedCommand& command : program_->plan()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("kernel", command.kernel);
    entry.Set("phases", command.phases);
    result.Set(index++, entry);
  }
  return result;
}

Napi::Value ProgramObject::seconds(const Napi::CallbackInfo& info) {
  const std::vector<double> seconds = program_->seconds();
  Napi::Float64Array result = Napi::Float64Array::New(info.Env(), seconds.size());
  std::copy(seconds.begin(), seconds.end(), result.Data());
  return result;
}

Napi::Value ProgramObject::run(const Napi::CallbackInfo& info) {
  auto arrays = std::make_shared<StepArrays>(info[0].As<Napi::Object>());
  return AsyncTask::start(
      info.Env(), "step", [program = program_, arrays] { return program->run(arrays->call()); },
      [arrays](Napi::Env env) { return env.Undefined(); });
}

void ProgramObject::dispose(const Napi::CallbackInfo&) { program_.reset(); }

}  // namespace markbase
