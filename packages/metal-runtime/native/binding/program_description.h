#pragma once

#include <napi.h>

#include "device.h"

namespace markbase {

/** Reads a NativeProgramDescription of src/native.ts and lowers its commands. */
Status read_program_description(Napi::Object object, ProgramDescription* out);

}  // namespace markbase
