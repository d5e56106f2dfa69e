#include <napi.h>

#include "addon_data.h"
#include "async_task.h"
#include "buffer_object.h"
#include "processor.h"
#include "device_object.h"
#include "program_object.h"
#include "typed_array.h"

namespace markbase {

namespace {

/** Version of the contract in src/native.ts. */
constexpr int kAbi = 9;

Napi::Value list_isas(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  uint32_t index = 0;
  for (const std::string& name : cpu::supported_isas()) names.Set(index++, name);
  return names;
}

Napi::Value open(const Napi::CallbackInfo& info) { return DeviceObject::open(info.Env(), object_argument(info, 0, "options")); }

void shut_down(const Napi::CallbackInfo& info) { AddonData::of(info.Env()).shut_down(); }

Napi::Value measure_read_bandwidth(const Napi::CallbackInfo& info) {
  const uint32_t threads = std::max(1u, info[0].As<Napi::Number>().Uint32Value());
  auto result = std::make_shared<double>(0);
  return AsyncTask::start(
      info.Env(), "measure read bandwidth", [threads, result] { return cpu::measure_read_bandwidth(threads, result.get()); },
      [result](Napi::Env env) { return Napi::Number::New(env, *result); });
}

Napi::Value measure_matmul_peak(const Napi::CallbackInfo& info) {
  const uint32_t threads = std::max(1u, info[0].As<Napi::Number>().Uint32Value());
  auto peak = std::make_shared<cpu::MatmulPeak>();
  return AsyncTask::start(
      info.Env(), "measure matmul peak", [threads, peak] { return cpu::measure_matmul_peak(threads, peak.get()); },
      [peak](Napi::Env env) {
        Napi::Object rates = Napi::Object::New(env);
        rates.Set("float32", peak->float32);
        rates.Set("bfloat16", peak->bfloat16);
        rates.Set("int8", peak->int8);
        return rates;
      });
}

}  // namespace

Napi::Object init_addon(Napi::Env env, Napi::Object exports) {
  auto* data = new AddonData(env);
  data->device_class = Napi::Persistent(DeviceObject::define(env));
  data->buffer_class = Napi::Persistent(BufferObject::define(env));
  data->program_class = Napi::Persistent(ProgramObject::define(env));
  env.SetInstanceData(data);
  // Hooks run in reverse order: steps end before the queue that delivers their completions.
  env.AddCleanupHook([data] { data->shut_down(); });
  exports.Set("abi", kAbi);
  exports.Set("listIsas", Napi::Function::New<list_isas>(env));
  exports.Set("openDevice", Napi::Function::New<open>(env));
  exports.Set("shutDown", Napi::Function::New<shut_down>(env));
  exports.Set("measureReadBandwidth", Napi::Function::New<measure_read_bandwidth>(env));
  exports.Set("measureMatmulPeak", Napi::Function::New<measure_matmul_peak>(env));
  return exports;
}

}  // namespace markbase

static Napi::Object init(Napi::Env env, Napi::Object exports) { return markbase::init_addon(env, exports); }

NODE_API_MODULE(markbase, init)
