#pragma once

#include <string>

#include "driver_api.h"
#include "status.h"

namespace markbase::cuda {

/** The functions of the driver's library, looked up once. */
struct Driver {
#define MARKBASE_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  MARKBASE_CUDA_FUNCTIONS(MARKBASE_CUDA_MEMBER)
  MARKBASE_CUDA_OPTIONAL_FUNCTIONS(MARKBASE_CUDA_MEMBER)
#undef MARKBASE_CUDA_MEMBER
  int version = 0;  ///< CUDA version of the driver, as 1000 · major + 10 · minor

  /**
   * Loads libcuda.so.1, or the library that MARKBASE_LIBCUDA names, and initialises it; the library stays loaded. kDeviceUnavailable if it
   * is missing, too old, or finds no GPU.
   *
   * @param is_installed becomes true when the library was found
   */
  static Status load(const std::string& kind, const Driver** out, bool* is_installed);

  /** "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure" */
  std::string describe(CUresult result) const;
  /** The status of a failed call: kOutOfMemory of `bytes`, or kDevice. `where` names what was done. */
  Status error(CUresult result, const std::string& where, size_t bytes = 0) const;
};

/** "12.4" of 12040. */
std::string version_text(int version);

/** True for results after which the context and all memory of the device are lost. */
bool is_fatal(CUresult result);

}  // namespace markbase::cuda
