#pragma once

#include <string>
#include <vector>

#include "tokens.h"

namespace msl {

/** The first construct that Metal forbids and C++ for OpenCL allows, as "file:line: error: ...", or "". */
std::string find_forbidden(const std::vector<Token>& tokens);

}  // namespace msl
