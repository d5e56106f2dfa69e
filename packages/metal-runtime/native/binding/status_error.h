#pragma once

#include <napi.h>

#include "status.h"

namespace markbase {

/** The JavaScript error of a failed status: its fields are data, native-error.ts makes the typed class of it. */
Napi::Error to_error(Napi::Env env, const Status& status);

/** Throws when the status is not good. */
inline void throw_unless_ok(Napi::Env env, const Status& status) {
  if (!status.ok()) throw to_error(env, status);
}

}  // namespace markbase
