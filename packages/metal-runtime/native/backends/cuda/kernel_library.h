#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "context.h"
#include "kernel_table.h"

namespace markbase::cuda {

/** A kernel that can be launched. */
struct Kernel {
  std::string name;
  CUfunction function = nullptr;
  const std::vector<KernelParameter>* parameters = nullptr;
  uint32_t max_threads = 0;  ///< a block
  size_t static_shared_bytes = 0;
  size_t max_dynamic_bytes = 48 * 1024;  ///< shared memory that launches may currently request
};

/**
 * Kernels of a GPU. Each has its own PTX text, which is loaded when a plan first names the kernel; the driver compiles it and caches the
 * result across processes.
 */
class KernelLibrary {
 public:
  /** kDeviceUnavailable of `kind` if this build has no PTX for the GPU. */
  static Status open(const std::string& kind, std::shared_ptr<Context> context, std::unique_ptr<KernelLibrary>* out);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  /** Loads missing kernels concurrently. kDevice with the driver's message if one does not compile. */
  Status load(const std::vector<std::string>& kernels);
  /** A kernel, loaded on first use; lives as long as the library. */
  Status kernel(const std::string& name, const Kernel** out);
  /** Allows launches of a kernel to request `bytes` of dynamic shared memory. kDevice if the GPU has less. */
  Status allow_dynamic_shared(const Kernel& kernel, size_t bytes);

 private:
  explicit KernelLibrary(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Status compile(const std::string& name, CUmodule* out) const;
  Status find(CUmodule module, const std::string& name, Kernel* out) const;

  const std::shared_ptr<Context> context_;
  std::string folder_;  ///< of the PTX for this GPU
  std::string arch_;
  KernelTable table_;
  std::mutex mutex_;
  std::unordered_map<std::string, CUmodule> modules_;  ///< by kernel
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace markbase::cuda
