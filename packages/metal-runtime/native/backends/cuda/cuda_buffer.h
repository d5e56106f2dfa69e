#pragma once

#include <memory>
#include <utility>

#include "region_buffer.h"
#include "upload.h"

namespace markbase::cuda {

/** A region of the GPU's memory, whose contents may still be uploading. */
class CudaBuffer : public gpu::RegionBuffer {
 public:
  CudaBuffer(std::shared_ptr<Region> region, size_t size) : RegionBuffer(0, size), region_(std::move(region)) {}
  CudaBuffer(std::shared_ptr<Upload> upload, size_t size) : RegionBuffer(0, size), region_(upload->region()), upload_(std::move(upload)) {}

  const void* identity() const override { return region_.get(); }
  CUdeviceptr address() const { return region_->address(); }
  /** The upload of the bytes, or null if they have arrived. */
  const std::shared_ptr<Upload>& upload() const { return upload_; }

 private:
  const std::shared_ptr<Region> region_;
  const std::shared_ptr<Upload> upload_;
};

}  // namespace markbase::cuda
