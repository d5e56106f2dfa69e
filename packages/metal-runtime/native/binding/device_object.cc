#include "device_object.h"

#include <algorithm>

#include "addon_data.h"
#include "buffer_object.h"
#include "guard.h"
#include "program_description.h"
#include "program_object.h"
#include "status_error.h"
#include "typed_array.h"

namespace markbase {

Napi::Function DeviceObject::define(Napi::Env env) {
  return DefineClass(env, "NativeDevice",
                     {InstanceAccessor<&DeviceObject::info>("info"), InstanceAccessor<&DeviceObject::uploads>("uploads"),
                      InstanceMethod<&DeviceObject::map>("map"), InstanceMethod<&DeviceObject::upload>("upload"),
                      InstanceMethod<&DeviceObject::allocate>("allocate"), InstanceMethod<&DeviceObject::read>("read"),
                      InstanceMethod<&DeviceObject::write>("write"), InstanceMethod<&DeviceObject::require_memory>("requireMemory"),
                      InstanceMethod<&DeviceObject::create_program>("createProgram"), InstanceMethod<&DeviceObject::dispose>("dispose")});
}

Napi::Object DeviceObject::open(Napi::Env env, Napi::Object options) {
  DeviceOptions parsed;
  parsed.kind = options.Get("kind").As<Napi::String>().Utf8Value();
  parsed.threads = options.Get("threads").As<Napi::Number>().Uint32Value();
  parsed.isa = options.Get("isa").As<Napi::String>().Utf8Value();
  std::shared_ptr<Device> device;
  std::string note;
  throw_unless_ok(env, guarded("open device", [&] { return open_device(parsed, &device, &note); }));
  AddonData& data = AddonData::of(env);
  std::erase_if(data.devices, [](const auto& weak) { return weak.expired(); });
  data.devices.push_back(device);
  Napi::Object object = data.device_class.New({});
  Unwrap(object)->device_ = std::move(device);
  Unwrap(object)->note_ = std::move(note);
  return object;
}

Device& DeviceObject::device() const {
  require(Env(), device_ != nullptr, "device", "one that was not disposed");
  return *device_;
}

Napi::Value DeviceObject::info(const Napi::CallbackInfo& info) {
  const DeviceInfo device = this->device().info();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("kind", device.kind);
  object.Set("name", device.name);
  object.Set("isa", device.isa);
  object.Set("threads", device.threads);
  object.Set("totalMemoryBytes", Napi::Number::New(info.Env(), static_cast<double>(device.total_memory_bytes)));
  object.Set("driver", device.driver);
  object.Set("note", note_);
  return object;
}

Napi::Value DeviceObject::uploads(const Napi::CallbackInfo& info) {
  const UploadCounts counts = device().uploads();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("queuedBytes", static_cast<double>(counts.queued_bytes));
  object.Set("arrivedBytes", static_cast<double>(counts.arrived_bytes));
  return object;
}

Napi::Value DeviceObject::map(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  const auto offset = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const auto size = static_cast<uint64_t>(info[2].As<Napi::Number>().Int64Value());
  BufferPtr buffer;
  throw_unless_ok(info.Env(), guarded("map", [&, &target = device()] { return target.map(path, offset, size, &buffer); }));
  return BufferObject::wrap(info.Env(), std::move(buffer));
}

Napi::Value DeviceObject::upload(const Napi::CallbackInfo& info) {
  const auto bytes = typed_array<uint8_t>(info[0], "bytes");
  const std::string label = info[1].As<Napi::String>().Utf8Value();
  BufferPtr buffer;
  throw_unless_ok(info.Env(),
                  guarded("upload", [&, &target = device()] { return target.upload(bytes.Data(), bytes.ByteLength(), label, &buffer); }));
  return BufferObject::wrap(info.Env(), std::move(buffer));
}

Napi::Value DeviceObject::allocate(const Napi::CallbackInfo& info) {
  const auto size = static_cast<size_t>(info[0].As<Napi::Number>().Int64Value());
  const std::string label = info[1].As<Napi::String>().Utf8Value();
  BufferPtr buffer;
  throw_unless_ok(info.Env(), guarded("allocate", [&, &target = device()] { return target.allocate(size, label, &buffer); }));
  return BufferObject::wrap(info.Env(), std::move(buffer));
}

BufferPieces DeviceObject::pieces_of(const Napi::CallbackInfo& info, const Buffer& buffer) {
  const int64_t piece_bytes = info[1].As<Napi::Number>().Int64Value();
  const auto indices = typed_array<int32_t>(info[2], "indices");
  const auto bytes = typed_array<uint8_t>(info[3], "bytes");
  const BufferPieces pieces{static_cast<size_t>(piece_bytes), indices.Data(), indices.ElementLength()};
  require(info.Env(), piece_bytes > 0 && piece_bytes % 4 == 0, "pieceBytes", "a positive multiple of 4");
  require(info.Env(), bytes.ByteLength() == pieces.size_bytes(), "bytes", "the size of all pieces");
  const auto count = static_cast<int64_t>(buffer.size_bytes()) / piece_bytes;
  const bool are_inside = std::all_of(pieces.indices, pieces.indices + pieces.count, [&](int32_t i) { return i >= 0 && i < count; });
  require(info.Env(), are_inside, "indices", "pieces of the buffer");
  return pieces;
}

void DeviceObject::read(const Napi::CallbackInfo& info) {
  const BufferPtr buffer = BufferObject::of(info[0], "buffer");
  const BufferPieces pieces = pieces_of(info, *buffer);
  auto* to = reinterpret_cast<std::byte*>(info[3].As<Napi::Uint8Array>().Data());
  throw_unless_ok(info.Env(), guarded("read", [&, &target = device()] { return target.read(*buffer, pieces, to); }));
}

void DeviceObject::write(const Napi::CallbackInfo& info) {
  const BufferPtr buffer = BufferObject::of(info[0], "buffer");
  const BufferPieces pieces = pieces_of(info, *buffer);
  const auto* from = reinterpret_cast<const std::byte*>(info[3].As<Napi::Uint8Array>().Data());
  throw_unless_ok(info.Env(), guarded("write", [&, &target = device()] { return target.write(*buffer, pieces, from); }));
}

void DeviceObject::require_memory(const Napi::CallbackInfo& info) {
  const auto size = static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value());
  const std::string label = info[1].As<Napi::String>().Utf8Value();
  throw_unless_ok(info.Env(), guarded("require memory", [&, &target = device()] { return target.require_memory(size, label); }));
}

Napi::Value DeviceObject::create_program(const Napi::CallbackInfo& info) {
  ProgramDescription description;
  throw_unless_ok(info.Env(), read_program_description(object_argument(info, 0, "description"), &description));
  StepLimits limits(description);
  std::shared_ptr<Program> program;
  throw_unless_ok(info.Env(),
                  guarded("create program", [&, &target = device()] { return target.create_program(std::move(description), &program); }));
  return ProgramObject::wrap(info.Env(), std::move(program), std::move(limits));
}

}  // namespace markbase
