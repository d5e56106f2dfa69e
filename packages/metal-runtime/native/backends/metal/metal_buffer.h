#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <utility>

#include "mapped_file.h"
#include "region_buffer.h"

namespace markbase::metal {

class Residency;

/** A region of a buffer of the GPU; the buffer, or its heap, is resident as long as the region lives. */
class MetalBuffer : public gpu::RegionBuffer {
 public:
  MetalBuffer(
      std::shared_ptr<Residency> residency, id<MTLBuffer> buffer, size_t offset, size_t size, std::shared_ptr<MappedFile> file = nullptr);
  ~MetalBuffer() override;

  const void* identity() const override { return (__bridge const void*)buffer_; }
  id<MTLBuffer> buffer() const { return buffer_; }
  /** The file that the region is mapped from, or null. */
  const std::shared_ptr<MappedFile>& file() const { return file_; }

 private:
  /** The allocation whose residency is counted. */
  id allocation() const;

  std::shared_ptr<Residency> residency_;
  id<MTLBuffer> buffer_;
  std::shared_ptr<MappedFile> file_;
};

}  // namespace markbase::metal
