#pragma once

#include <napi.h>

#include <string>
#include <type_traits>

#include "status_error.h"

namespace markbase {

/** The kind of array whose elements are of a type. */
template <typename Number>
constexpr napi_typedarray_type typed_array_kind() {
  if constexpr (std::is_same_v<Number, int32_t>) return napi_int32_array;
  else if constexpr (std::is_same_v<Number, float>) return napi_float32_array;
  else if constexpr (std::is_same_v<Number, double>) return napi_float64_array;
  else {
    static_assert(std::is_same_v<Number, uint8_t>);
    return napi_uint8_array;
  }
}

/** Throws kInvalidArgument unless a condition of an argument holds. */
inline void require(Napi::Env env, bool holds, const std::string& argument, const char* expected) {
  if (!holds) throw to_error(env, Status::error(StatusCode::kInvalidArgument, argument, expected));
}

/** An argument that is an object; throws kInvalidArgument for anything else. */
inline Napi::Object object_argument(const Napi::CallbackInfo& info, size_t index, const char* argument) {
  require(info.Env(), info[index].IsObject(), argument, "an object");
  return info[index].As<Napi::Object>();
}

/** An argument whose memory will be accessed as numbers of this type; throws kInvalidArgument for anything else. */
template <typename Number>
Napi::TypedArrayOf<Number> typed_array(const Napi::Value& value, const std::string& argument) {
  const bool is_of_kind = value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == typed_array_kind<Number>();
  require(value.Env(), is_of_kind, argument, "a typed array of the kind in src/native.ts");
  return value.As<Napi::TypedArrayOf<Number>>();
}

}  // namespace markbase
