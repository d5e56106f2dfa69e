#include "metal_buffer.h"

#include "residency.h"

namespace markbase::metal {

MetalBuffer::MetalBuffer(
    std::shared_ptr<Residency> residency, id<MTLBuffer> buffer, size_t offset, size_t size, std::shared_ptr<MappedFile> file)
    : RegionBuffer(offset, size), residency_(std::move(residency)), buffer_(buffer), file_(std::move(file)) {
  @autoreleasepool {
    residency_->add(allocation());
  }
}

MetalBuffer::~MetalBuffer() {
  @autoreleasepool {
    residency_->remove(allocation());
  }
}

id MetalBuffer::allocation() const {
  const id heap = buffer_.heap;
  return heap ? heap : buffer_;
}

}  // namespace markbase::metal
