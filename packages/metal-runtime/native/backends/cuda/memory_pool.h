#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "context.h"

namespace markbase::cuda {

class MemoryPool;

/** A region of the GPU's memory, freed with its owner. */
class Region {
 public:
  Region(std::shared_ptr<MemoryPool> pool, CUdeviceptr address, size_t size_bytes)
      : pool_(std::move(pool)), address_(address), size_bytes_(size_bytes) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  CUdeviceptr address() const { return address_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  const std::shared_ptr<MemoryPool> pool_;
  const CUdeviceptr address_;
  const size_t size_bytes_;
};

/**
 * Memory of a GPU in large blocks that are divided into regions: a driver allocation per tensor of a checkpoint would be slow and waste the
 * rest of its pages. A block is returned to the driver with its last region.
 */
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /** Alignment of regions, for fast copies and vector loads. */
  static constexpr size_t kAlignment = 256;
  static constexpr size_t kBlockBytes = size_t{64} << 20;

  explicit MemoryPool(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~MemoryPool();

  /** kOutOfMemory with both figures if the GPU has less. */
  Status allocate(size_t bytes, const std::string& label, std::shared_ptr<Region>* out);
  /** kOutOfMemory if the GPU has less than `bytes` free now. */
  Status require(size_t bytes, const std::string& label) const;

 private:
  friend class Region;

  /** A block of the driver's memory and its gaps: sizes by offset, no two of them adjacent. */
  struct Block {
    CUdeviceptr address;
    size_t size_bytes;
    std::map<size_t, size_t> free;
  };

  void release(CUdeviceptr address, size_t bytes);
  Status out_of_memory(size_t bytes, const std::string& label) const;

  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace markbase::cuda
