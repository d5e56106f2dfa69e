#pragma once

#include "buffer.h"

namespace markbase::gpu {

/** Memory as seen by a plan: a region of a device buffer that begins on a page. */
class RegionBuffer : public Buffer {
 public:
  /** Bytes from the beginning of the device buffer. */
  size_t offset_bytes() const { return offset_bytes_; }
  /** An identity shared by all regions of one device buffer. */
  virtual const void* identity() const { return this; }

 protected:
  RegionBuffer(size_t offset_bytes, size_t size_bytes) : Buffer(size_bytes), offset_bytes_(offset_bytes) {}

 private:
  size_t offset_bytes_;
};

}  // namespace markbase::gpu
