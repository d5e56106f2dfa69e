#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "linear/linear_core.h"
#include "mapped_file.h"
#include "step_queue.h"
#include "thread_pool.h"

namespace markbase::cpu {

/** The processor itself: weights are read where they are mapped, and kernels run on a thread pool. */
class CpuDevice : public Device, public std::enable_shared_from_this<CpuDevice> {
 public:
  static Status open(const DeviceOptions& options, std::shared_ptr<Device>* out);
  CpuDevice(Isa isa, uint32_t threads) : isa_(isa), pool_(threads) {}

  DeviceInfo info() const override;
  Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) override;
  Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) override;
  Status allocate(size_t size, const std::string& label, BufferPtr* out) override;
  Status read(const Buffer& from, const BufferPieces& pieces, std::byte* to) override;
  Status write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) override;
  Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) override;
  void shut_down() override;

  Isa isa() const { return isa_; }
  uint32_t threads() const { return pool_.threads(); }
  ThreadPool& pool() { return pool_; }
  StepQueue& queue() { return queue_; }
  bool is_shut_down() const { return is_shut_down_.load(std::memory_order_relaxed); }

 private:
  const Isa isa_;
  ThreadPool pool_;
  std::atomic<bool> is_shut_down_{false};
  std::mutex files_mutex_;
  std::vector<std::weak_ptr<MappedFile>> files_;  ///< each file is mapped once
  StepQueue queue_;                               ///< declared last, so that it is destroyed first: its steps use all of the above
};

}  // namespace markbase::cpu
