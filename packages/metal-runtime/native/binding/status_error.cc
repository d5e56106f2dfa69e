#include "status_error.h"

namespace markbase {

namespace {

const char* code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid-argument";
    case StatusCode::kFileAccess: return "file-access";
    case StatusCode::kCorruptFile: return "corrupt-file";
    case StatusCode::kOutOfMemory: return "out-of-memory";
    case StatusCode::kNonFinite: return "non-finite";
    case StatusCode::kDeviceUnavailable: return "device-unavailable";
    case StatusCode::kDevice: return "device";
    case StatusCode::kCancelled: return "cancelled";
  }
  return "device";
}

}  // namespace

Napi::Error to_error(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.where + ": " + status.message);
  error.Set("status", code_name(status.code));
  error.Set("where", status.where);
  error.Set("reason", status.message);
  error.Set("sizeBytes", Napi::Number::New(env, static_cast<double>(status.bytes)));
  return error;
}

}  // namespace markbase
