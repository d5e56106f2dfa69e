#pragma once

#include <napi.h>

#include <string>

#include "buffer.h"

namespace markbase {

/** NativeBuffer in src/native.ts. */
class BufferObject : public Napi::ObjectWrap<BufferObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object wrap(Napi::Env env, BufferPtr buffer);
  /** The buffer of an operand; throws kInvalidArgument for anything else, and after dispose(). */
  static BufferPtr of(const Napi::Value& value, const std::string& label);
  explicit BufferObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<BufferObject>(info) {}

 private:
  Napi::Value size_bytes(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo&) { buffer_.reset(); }

  BufferPtr buffer_;  ///< null after dispose()
};

}  // namespace markbase
