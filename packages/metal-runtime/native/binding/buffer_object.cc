#include "buffer_object.h"

#include "addon_data.h"

namespace markbase {

Napi::Function BufferObject::define(Napi::Env env) {
  return DefineClass(env, "NativeBuffer",
                     {InstanceAccessor<&BufferObject::size_bytes>("sizeBytes"), InstanceMethod<&BufferObject::dispose>("dispose")});
}

Napi::Object BufferObject::wrap(Napi::Env env, BufferPtr buffer) {
  Napi::Object object = AddonData::of(env).buffer_class.New({});
  Unwrap(object)->buffer_ = std::move(buffer);
  return object;
}

Napi::Value BufferObject::size_bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), buffer_ ? static_cast<double>(buffer_->size_bytes()) : 0);
}

}  // namespace markbase
