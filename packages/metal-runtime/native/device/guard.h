#pragma once

#include <exception>
#include <new>
#include <system_error>

#include "status.h"

namespace markbase {

/**
 * Runs native work and converts exceptions of the C++ library (out of memory, no thread available) to a status, so that only Napi::Error
 * ever crosses the binding.
 *
 * @param where names the work in the error
 */
template <typename Work>
Status guarded(const char* where, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::kOutOfMemory, where, "the system is out of memory");
  } catch (const std::exception& error) {
    return Status::error(StatusCode::kDevice, where, error.what());
  }
}

}  // namespace markbase
