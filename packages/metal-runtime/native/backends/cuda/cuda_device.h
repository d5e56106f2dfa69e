#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_buffer.h"
#include "device.h"
#include "dispatch_builder.h"
#include "file_identity.h"
#include "kernel_library.h"
#include "memory_pool.h"
#include "step_gate.h"
#include "step_queue.h"
#include "upload.h"

namespace markbase::cuda {

/**
 * A GPU that NVIDIA's driver runs: weights are copied into its memory once, and steps run on one stream in the order in which they were
 * started.
 */
class CudaDevice : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  static Status open(const std::string& kind, const Driver& driver, std::shared_ptr<Device>* out);
  CudaDevice(std::string kind, std::shared_ptr<Context> context, std::unique_ptr<KernelLibrary> kernels);

  DeviceInfo info() const override;
  /** Allocates memory for the range immediately; its bytes arrive in the background, and steps wait for them. */
  Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) override;
  UploadCounts uploads() const override { return uploader_.counts(); }
  Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) override;
  Status allocate(size_t size, const std::string& label, BufferPtr* out) override;
  Status read(const Buffer& from, const BufferPieces& pieces, std::byte* to) override;
  Status write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) override;
  Status require_memory(uint64_t size, const std::string& label) const override;
  Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) override;
  void shut_down() override;

  const std::shared_ptr<Context>& context() const { return context_; }
  const Driver& driver() const { return context_->driver(); }
  CUstream stream() const { return stream_.handle(); }
  MemoryPool& memory() { return *memory_; }
  /** Fills memory with zeros, before it returns. */
  Status clear(CUdeviceptr address, size_t size, const std::string& label);
  KernelLibrary& kernels() { return *kernels_; }
  const gpu::GpuTraits& traits() const { return traits_; }
  gpu::StepGate& gate() { return gate_; }
  /** Ends steps in the order in which they were started. */
  StepQueue& queue() { return queue_; }
  /** Steps are launched by one thread at a time; those that wait for weights are launched before later ones. */
  std::mutex& launch_mutex() { return launch_mutex_; }
  size_t& waiting_launches() { return waiting_launches_; }

 private:
  /** A range of a file in the GPU's memory. */
  struct LoadedRange {
    FileIdentity file;
    int64_t modified_ns;
    uint64_t offset;
    uint64_t size;
    std::weak_ptr<Upload> upload;
  };

  Status prepare();
  /** Starts a copy for each run of pieces and waits for all of them. */
  template <typename Copy>
  Status copy_pieces(const BufferPieces& pieces, const std::string& label, const Copy& copy);

  const std::string kind_;
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<MemoryPool> memory_;
  const std::unique_ptr<KernelLibrary> kernels_;
  const gpu::GpuTraits traits_;
  Stream stream_;
  Stream setup_stream_;         ///< fills memory before steps use it
  PinnedMemory pieces_memory_;  ///< of `read` and `write`
  gpu::StepGate gate_;
  std::mutex ranges_mutex_;
  std::vector<LoadedRange> ranges_;  ///< each is loaded once
  std::mutex launch_mutex_;
  size_t waiting_launches_ = 0;  ///< guarded by launch_mutex_
  Uploader uploader_;
  StepQueue queue_;  ///< declared last, so that it is destroyed first: its steps use all of the above
};

}  // namespace markbase::cuda
