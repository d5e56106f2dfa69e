#pragma once

/**
 * Included before host sources: `@available(macOS 15, *)` becomes `@(metal_sim_available("macOS 15, *"))`, a boxed string that is nil if
 * the simulated system is older. See the build script.
 */
extern "C" const char* metal_sim_available(const char* systems);
