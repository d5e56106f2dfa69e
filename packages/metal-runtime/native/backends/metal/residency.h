#pragma once

#import <Metal/Metal.h>

#include <mutex>
#include <unordered_map>

namespace markbase::metal {

/**
 * Keeps memory resident on the GPU if the system has residency sets (macOS 15), so that weights are not made resident again for every
 * command buffer. Elsewhere it does nothing, because command buffers make resident what they use.
 */
class Residency {
 public:
  Residency(id<MTLDevice> device, id<MTLCommandQueue> queue);
  ~Residency();

  /** Counts the owners of an allocation, a buffer or a heap; the last `remove` removes it from the set. */
  void add(id allocation);
  void remove(id allocation);

 private:
  std::mutex mutex_;
  id<MTLCommandQueue> queue_;
  id set_ = nil;  ///< an MTLResidencySet; older systems do not have the type
  std::unordered_map<const void*, size_t> owners_;
};

}  // namespace markbase::metal
