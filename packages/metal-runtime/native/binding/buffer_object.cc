#include "buffer_object.h"

#include "addon_data.h"
#include "typed_array.h"

namespace markbase {

/** Marks the objects that wrap a buffer: those of other classes wrap something else. */
static constexpr napi_type_tag kBufferTag = {0x6d61726b62617365, 0x6275666665720001};

Napi::Function BufferObject::define(Napi::Env env) {
  return DefineClass(env, "NativeBuffer",
                     {InstanceAccessor<&BufferObject::size_bytes>("sizeBytes"), InstanceMethod<&BufferObject::dispose>("dispose")});
}

Napi::Object BufferObject::wrap(Napi::Env env, BufferPtr buffer) {
  Napi::Object object = AddonData::of(env).buffer_class.New({});
  Unwrap(object)->buffer_ = std::move(buffer);
  object.TypeTag(&kBufferTag);
  return object;
}

BufferPtr BufferObject::of(const Napi::Value& value, const std::string& label) {
  const bool is_buffer = value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&kBufferTag);
  require(value.Env(), is_buffer, label, "a buffer of this addon");
  BufferPtr buffer = Unwrap(value.As<Napi::Object>())->buffer_;
  require(value.Env(), buffer != nullptr, label, "a buffer that was not disposed");
  return buffer;
}

Napi::Value BufferObject::size_bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), buffer_ ? static_cast<double>(buffer_->size_bytes()) : 0);
}

}  // namespace markbase
