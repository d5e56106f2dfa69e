#pragma once

#include <napi.h>

#include "buffer.h"

namespace markbase {

/** NativeBuffer in src/native.ts. */
class BufferObject : public Napi::ObjectWrap<BufferObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object wrap(Napi::Env env, BufferPtr buffer);
  explicit BufferObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<BufferObject>(info) {}

  /** Null after dispose(). */
  const BufferPtr& buffer() const { return buffer_; }

 private:
  Napi::Value size_bytes(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo&) { buffer_.reset(); }

  BufferPtr buffer_;
};

}  // namespace markbase
