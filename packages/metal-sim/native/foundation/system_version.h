#pragma once

namespace metal_sim {

/** The version of macOS that the simulator plays: METAL_SIM_MACOS, or 15. Below 14 and above 26 it is clamped. */
int system_version();

}  // namespace metal_sim
