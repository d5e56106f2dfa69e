#pragma once

#import <Metal/Metal.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "kernel_library.h"
#include "mapped_file.h"
#include "residency.h"
#include "step_gate.h"

namespace markbase::metal {

class MetalBuffer;

/** A GPU that Metal drives: weights are read where they are mapped, and steps run on one queue in the order in which they were started. */
class MetalDevice : public Device, public std::enable_shared_from_this<MetalDevice> {
 public:
  MetalDevice(std::string kind, id<MTLDevice> device, id<MTLCommandQueue> queue);

  DeviceInfo info() const override;
  Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) override;
  Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) override;
  Status allocate(size_t size, const std::string& label, BufferPtr* out) override;
  Status read(const Buffer& from, const BufferPieces& pieces, std::byte* to) override;
  Status write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) override;
  Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) override;
  void shut_down() override { gate_.shut_down(); }

  id<MTLCommandQueue> queue() const { return queue_; }
  KernelLibrary& kernels() { return kernels_; }
  /** A shared buffer of at least `size` bytes, zeroed; nil if memory is exhausted. */
  id<MTLBuffer> new_buffer(size_t size, const std::string& label) const;
  /** Uninitialised memory that only the GPU can access, in its own heap. kOutOfMemory. */
  Status allocate_private(size_t size, const std::string& label, std::shared_ptr<MetalBuffer>* out) const;
  /** The result of a command buffer as a status; if the GPU was lost, all further steps fail. `bytes`: for kOutOfMemory. */
  Status status_of(NSError* error, const std::string& where, size_t bytes);
  gpu::StepGate& gate() { return gate_; }

 private:
  Status clear(const MetalBuffer& buffer, const std::string& label);
  /** Runs commands that `encode` adds to a blit encoder, and waits for them. `bytes`: for kOutOfMemory. */
  Status blit(const std::string& label, size_t bytes, const std::function<void(id<MTLBlitCommandEncoder>)>& encode);

  const std::string kind_;
  gpu::StepGate gate_;
  id<MTLDevice> device_;
  id<MTLCommandQueue> queue_;
  KernelLibrary kernels_;
  std::shared_ptr<Residency> residency_;
  std::mutex files_mutex_;
  std::vector<std::weak_ptr<MappedFile>> files_;  ///< each file is mapped once
};

}  // namespace markbase::metal
