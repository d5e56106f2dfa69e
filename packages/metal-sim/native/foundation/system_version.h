#pragma once

namespace metal_sim {

/** The simulated version of macOS: METAL_SIM_MACOS, or 15, clamped to 14 .. 26. */
int system_version();

}  // namespace metal_sim
