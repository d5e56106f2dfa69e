#include "system_version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "available.h"

namespace metal_sim {

int system_version() {
  const char* asked = std::getenv("METAL_SIM_MACOS");
  return asked ? std::clamp(std::atoi(asked), 14, 26) : 15;
}

}  // namespace metal_sim

/** A string as a truth value: not null if the system is new enough. */
const char* metal_sim_available(const char* systems) {
  const char* named = std::strstr(systems, "macOS");
  if (!named) return "yes";
  return metal_sim::system_version() >= std::atoi(named + std::strlen("macOS")) ? "yes" : nullptr;
}
