#pragma once

#include <string>

namespace msl {

/** Folder of the headers that kernels are compiled with: METAL_SIM_MSL, or that of the build. */
std::string msl_folder();

inline std::string include_folder() { return msl_folder() + "/include"; }
inline std::string stage_folder() { return msl_folder() + "/stage"; }

/** Folder of compiled kernels: METAL_SIM_CACHE, or metal-sim in the user's cache. Created if missing. */
std::string cache_folder();

}  // namespace msl
