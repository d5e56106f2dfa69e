#pragma once

#include <napi.h>

#include <memory>

#include "device.h"

namespace markbase {

/** NativeDevice in src/native.ts. */
class DeviceObject : public Napi::ObjectWrap<DeviceObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object open(Napi::Env env, Napi::Object options);
  explicit DeviceObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DeviceObject>(info) {}

 private:
  Napi::Value info(const Napi::CallbackInfo& info);
  Napi::Value uploads(const Napi::CallbackInfo& info);
  Napi::Value map(const Napi::CallbackInfo& info);
  Napi::Value upload(const Napi::CallbackInfo& info);
  Napi::Value allocate(const Napi::CallbackInfo& info);
  void read(const Napi::CallbackInfo& info);
  void write(const Napi::CallbackInfo& info);
  void require_memory(const Napi::CallbackInfo& info);
  Napi::Value create_program(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo&) { device_.reset(); }

  /** The pieces that arguments 1 to 3 of `read` and `write` name; throws kInvalidArgument if they are not in the buffer. */
  static BufferPieces pieces_of(const Napi::CallbackInfo& info, const Buffer& buffer);
  /** Throws kInvalidArgument after dispose(). */
  Device& device() const;

  std::shared_ptr<Device> device_;
  std::string note_;  ///< why "auto" did not choose another device
};

}  // namespace markbase
