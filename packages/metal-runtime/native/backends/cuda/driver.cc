#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace markbase::cuda {

namespace {

/** The first driver that loads PTX for compute capability 9.0: CUDA 11.8. */
constexpr int kOldestVersion = 11080;

Status unavailable(const std::string& kind, std::string reason) {
  return Status::error(StatusCode::kDeviceUnavailable, kind, std::move(reason));
}

/** Looks up every function; the error names the first one that is missing. */
Status resolve(const std::string& kind, const std::string& path, void* library, Driver* driver) {
  std::string missing;
#define MARKBASE_CUDA_RESOLVE(member, symbol, parameters)                              \
  driver->member = reinterpret_cast<decltype(driver->member)>(dlsym(library, symbol)); \
  if (!driver->member && missing.empty()) missing = symbol;
  MARKBASE_CUDA_FUNCTIONS(MARKBASE_CUDA_RESOLVE)
#undef MARKBASE_CUDA_RESOLVE
#define MARKBASE_CUDA_LOOK_UP(member, symbol, parameters) \
  driver->member = reinterpret_cast<decltype(driver->member)>(dlsym(library, symbol));
  MARKBASE_CUDA_OPTIONAL_FUNCTIONS(MARKBASE_CUDA_LOOK_UP)
#undef MARKBASE_CUDA_LOOK_UP
  if (missing.empty()) return Status::good();
  // Reached only with a library that lacks functions of its CUDA version.
  return unavailable(kind, path + " has no " + missing + ": update the NVIDIA driver to CUDA " + version_text(kOldestVersion) +
                               " or newer, or use --device cpu");
}

Status initialise(const std::string& kind, Driver* driver) {
  // The version is known without a GPU, and an old driver explains many later failures.
  if (driver->driver_version(&driver->version) != CUDA_SUCCESS) driver->version = 0;
  const CUresult result = driver->init(0);
  if (result == CUDA_ERROR_NO_DEVICE) return unavailable(kind, "the NVIDIA driver finds no GPU on this machine");
  if (result != CUDA_SUCCESS) return unavailable(kind, "the NVIDIA driver does not start: " + driver->describe(result));
  if (driver->version >= kOldestVersion) return Status::good();
  return unavailable(kind, "the NVIDIA driver supports CUDA " + version_text(driver->version) + ", expected " +
                               version_text(kOldestVersion) + " or newer: update it, or use --device cpu");
}

}  // namespace

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

bool is_fatal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_CONTAINED: return true;
    default: return false;
  }
}

Status Driver::load(const std::string& kind, const Driver** out, bool* is_installed) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Driver>> loaded;
  const char* asked = std::getenv("MARKBASE_LIBCUDA");
  const std::string path = asked && *asked ? asked : "libcuda.so.1";
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto known = loaded.find(path); known != loaded.end()) {
    *is_installed = true;
    *out = known->second.get();
    return Status::good();
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  *is_installed = library != nullptr;
  if (!library) return unavailable(kind, path + " was not found: install the NVIDIA driver, or use --device cpu");
  auto driver = std::make_unique<Driver>();
  Status status = resolve(kind, path, library, driver.get());
  if (status.ok()) status = initialise(kind, driver.get());
  // The library stays loaded, because it may already have threads.
  if (!status.ok()) return status;
  *out = driver.get();
  loaded[path] = std::move(driver);
  return Status::good();
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  error_name(result, &name);
  error_string(result, &text);
  return std::string(name ? name : "error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
}

Status Driver::error(CUresult result, const std::string& where, size_t bytes) const {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return Status::error(StatusCode::kOutOfMemory, where, {}, bytes);
  return Status::error(StatusCode::kDevice, where, describe(result));
}

}  // namespace markbase::cuda
