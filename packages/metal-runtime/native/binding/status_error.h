#pragma once

#include <napi.h>

#include "status.h"

namespace markbase {

/** The JavaScript error of a failed status: its fields are data, from which native-error.ts creates the typed class. */
Napi::Error to_error(Napi::Env env, const Status& status);

/** Throws if the status is an error. */
inline void throw_unless_ok(Napi::Env env, const Status& status) {
  if (!status.ok()) throw to_error(env, status);
}

}  // namespace markbase
