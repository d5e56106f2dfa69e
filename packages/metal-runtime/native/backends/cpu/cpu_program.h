#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu_buffer.h"
#include "cpu_kernel.h"
#include "device.h"
#include "thread_pool.h"

namespace markbase::cpu {

class CpuDevice;

/** A command with its kernel and addresses resolved: nothing is looked up while a step runs. */
struct BoundCommand {
  const CpuKernel* kernel;
  const Command* command;
  std::vector<void*> buffers;
};

/** Replays commands phase by phase; items of a phase are handed to the threads dynamically. */
class CpuProgram : public Program {
 public:
  static Status create(std::shared_ptr<CpuDevice> device, ProgramDescription description, std::shared_ptr<Program>* out);

  void start(const StepCall& step, StepEnd end) override;
  std::vector<PlannedCommand> plan() const override;
  std::vector<double> seconds() const override { return seconds_; }

 private:
  static constexpr size_t kNeverStop = SIZE_MAX;

  CpuProgram(std::shared_ptr<CpuDevice> device, ProgramDescription description)
      : device_(std::move(device)), description_(std::move(description)) {}

  Status bind();
  Status run(const StepCall& step);
  void run_commands(uint32_t thread, Barrier* barrier);
  /** False when the phase has no items for this step. */
  bool run_phase(const BoundCommand& bound, uint32_t phase, std::atomic<uint32_t>* next, uint32_t thread);
  bool has_non_finite_output(const BoundCommand& bound) const;
  void copy_inputs(const StepCall& step);
  void copy_outputs(const StepCall& step) const;
  Status damaged_file() const;

  std::shared_ptr<CpuDevice> device_;
  const ProgramDescription description_;
  std::vector<BoundCommand> commands_;
  std::vector<std::shared_ptr<MappedFile>> files_;  ///< every file that the commands read
  std::shared_ptr<AnonymousBuffer> arena_;
  std::shared_ptr<AnonymousBuffer> scratch_;
  std::vector<std::atomic<uint32_t>> next_item_;  ///< one counter per phase
  std::vector<double> seconds_;                   ///< per command, written by thread 0

  // Of the running step, set before the threads start and read by all of them.
  const StepCall* step_ = nullptr;
  /** The barrier after which all threads leave. A number rather than a flag, because a thread at an earlier barrier must not obey it. */
  std::atomic<size_t> stop_stage_{kNeverStop};
  const BoundCommand* non_finite_ = nullptr;
};

}  // namespace markbase::cpu
