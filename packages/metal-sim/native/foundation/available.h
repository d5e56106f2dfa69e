#pragma once

/**
 * Included in front of host sources: `@available(macOS 15, *)` becomes `@(metal_sim_available("macOS 15, *"))`, a boxed
 * string that is nil when the simulator plays an older system. See the build script.
 */
extern "C" const char* metal_sim_available(const char* systems);
