#pragma once

#include <cstddef>

namespace markbase::metal {

/** One kernel file, with its headers inlined. */
struct KernelSource {
  const char* name;  ///< without extension
  const char* text;
};

/** All kernel files; scripts/embed-kernels.mjs writes them when the addon is built. */
extern const KernelSource kKernelSources[];
extern const size_t kKernelSourceCount;

}  // namespace markbase::metal
