#pragma once

#import <Metal/Metal.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "status.h"

namespace markbase::metal {

/**
 * Kernels of a device, compiled from source on first use, one library per file. If there is a folder for them (MARKBASE_METAL_CACHE, or the
 * user's caches), compiled pipelines are kept on disk for later processes.
 */
class KernelLibrary {
 public:
  explicit KernelLibrary(id<MTLDevice> device);

  /**
   * The pipeline of a kernel, compiled once; for kernels of linear_tile, that of linear_tensor if the system and the GPU have tensor
   * operations. kDevice with the compiler's message if it does not compile.
   */
  Status pipeline(const std::string& source, const std::string& kernel, id<MTLComputePipelineState> __strong* out);
  /** Writes pipelines that are new since the last call to disk; errors are ignored, because the next process can compile again. */
  void save();

 private:
  Status library(const std::string& source, id<MTLLibrary> __strong* out);
  Status compile(const std::string& source, const std::string& kernel, id<MTLComputePipelineState> __strong* out);
  /** From the archive, or compiled and added to it; nil with an error if the kernel does not compile. */
  id<MTLComputePipelineState> make_pipeline(MTLComputePipelineDescriptor* descriptor, NSError** error);
  void open_archive();

  id<MTLDevice> device_;
  bool has_tensor_;  ///< until the system refuses a kernel that uses tensor operations
  std::mutex mutex_;
  std::unordered_map<std::string, id<MTLLibrary>> libraries_;
  std::unordered_map<std::string, id<MTLComputePipelineState>> pipelines_;
  id<MTLBinaryArchive> archive_ = nil;
  std::string archive_path_;
  bool has_new_ = false;
};

}  // namespace markbase::metal
