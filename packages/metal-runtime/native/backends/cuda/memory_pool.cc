#include "memory_pool.h"

#include <algorithm>

namespace markbase::cuda {

namespace {

size_t round_up(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + MemoryPool::kAlignment - 1) / MemoryPool::kAlignment * MemoryPool::kAlignment;
}

}  // namespace

Region::~Region() { pool_->release(address_, size_bytes_); }

MemoryPool::~MemoryPool() {
  const ContextScope scope(*context_);
  for (const Block& block : blocks_) context_->driver().memory_free(block.address);
}

Status MemoryPool::allocate(size_t bytes, const std::string& label, std::shared_ptr<Region>* out) {
  if (bytes > SIZE_MAX / 2) return out_of_memory(bytes, label);
  const size_t size = round_up(bytes);
  std::unique_lock<std::mutex> lock(mutex_);
  CUdeviceptr address = 0;
  for (Block& block : blocks_) {
    const auto place = std::find_if(block.free.begin(), block.free.end(), [&](const auto& gap) { return gap.second >= size; });
    if (place == block.free.end()) continue;
    const auto [offset, length] = *place;
    block.free.erase(place);
    if (length > size) block.free[offset + size] = length - size;
    address = block.address + offset;
    break;
  }
  if (address == 0) {
    const ContextScope scope(*context_);
    size_t block_bytes = std::max(size, kBlockBytes);
    CUresult result = context_->driver().memory_alloc(&address, block_bytes);
    // The remaining memory may suffice for the request, though not for a block.
    if (result == CUDA_ERROR_OUT_OF_MEMORY && block_bytes > size) {
      block_bytes = size;
      result = context_->driver().memory_alloc(&address, block_bytes);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return out_of_memory(bytes, label);
    if (result != CUDA_SUCCESS) return context_->driver().error(result, label);
    Block block{address, block_bytes, {}};
    if (block_bytes > size) block.free[size] = block_bytes - size;
    blocks_.push_back(std::move(block));
  }
  // Assigning may release the previous region of `out`, which takes the lock.
  lock.unlock();
  *out = std::make_shared<Region>(shared_from_this(), address, size);
  return Status::good();
}

void MemoryPool::release(CUdeviceptr address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& candidate) {
    return address >= candidate.address && address - candidate.address < candidate.size_bytes;
  });
  size_t offset = address - block->address, size = bytes;
  // Adjacent gaps are merged.
  if (const auto next = block->free.find(offset + size); next != block->free.end()) {
    size += next->second;
    block->free.erase(next);
  }
  auto before = block->free.lower_bound(offset);
  if (before != block->free.begin() && std::prev(before)->first + std::prev(before)->second == offset) {
    --before;
    offset = before->first;
    size += before->second;
    block->free.erase(before);
  }
  block->free[offset] = size;
  if (size < block->size_bytes) return;
  const ContextScope scope(*context_);
  context_->driver().memory_free(block->address);
  blocks_.erase(block);
}

Status MemoryPool::out_of_memory(size_t bytes, const std::string& label) const {
  size_t free_bytes = 0, total_bytes = 0;
  const ContextScope scope(*context_);
  context_->driver().memory_info(&free_bytes, &total_bytes);
  const std::string reason = "the GPU has " + std::to_string(free_bytes) + " bytes free of " + std::to_string(total_bytes);
  return Status::error(StatusCode::kOutOfMemory, label, reason, bytes);
}

Status MemoryPool::require(size_t bytes, const std::string& label) const {
  size_t free_bytes = 0, total_bytes = 0;
  {
    const ContextScope scope(*context_);
    const CUresult result = context_->driver().memory_info(&free_bytes, &total_bytes);
    if (result != CUDA_SUCCESS) return context_->driver().error(result, label);
  }
  return bytes <= free_bytes ? Status::good() : out_of_memory(bytes, label);
}

}  // namespace markbase::cuda
