#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "status.h"
#include "step.h"

namespace markbase {

/** Data that a step copies into or out of a port of its program. */
struct PortData {
  size_t port;
  float* data;
  size_t count;  ///< elements
};

/** One step: what kernels see, what is copied in before and out after. All pointers stay valid while it runs. */
struct StepCall {
  StepView view{};
  std::vector<PortData> inputs;
  std::vector<PortData> outputs;
  int32_t* sampled = nullptr;       ///< [N]
  float* logprobs = nullptr;        ///< [N]
  int32_t* top_tokens = nullptr;    ///< [N, kMaxTopLogprobs]
  float* top_logprobs = nullptr;    ///< [N, kMaxTopLogprobs]
  /** Becomes other than 0, on any thread, when the caller wants the step to stop: before it starts, or at its next command. */
  const int32_t* cancel_flag = nullptr;

  bool is_cancelled() const { return cancel_flag && __atomic_load_n(cancel_flag, __ATOMIC_RELAXED) != 0; }
};

/** What a command became on a backend. */
struct PlannedCommand {
  std::string kernel;
  uint32_t phases;
};

/** A program that a backend prepared. Steps of one device run one after the other. */
class Program {
 public:
  virtual ~Program() = default;
  /** Runs one step to its end on the calling thread and the backend's own; kCancelled when its caller stops it. */
  virtual Status run(const StepCall& step) = 0;
  virtual std::vector<PlannedCommand> plan() const = 0;
  /** Seconds that each command took in all steps so far; zeros unless the description asks to measure. */
  virtual std::vector<double> seconds() const = 0;
};

struct DeviceInfo {
  std::string kind;
  std::string name;
  std::string isa;
  uint32_t threads;
  uint64_t total_memory_bytes;
};

/** A backend's device. */
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  /** Maps a span of a file, read-only. */
  virtual Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) = 0;
  virtual Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) = 0;
  /** Zeroed memory, backed when touched. */
  virtual Status allocate(size_t size, const std::string& label, BufferPtr* out) = 0;
  virtual Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) = 0;
  /** Cancels whatever runs and waits until nothing does; later steps fail with kCancelled. */
  virtual void shut_down() = 0;
};

struct DeviceOptions {
  std::string kind;      ///< "auto", "cpu", "metal", "cuda", "metal-sim"
  uint32_t threads = 0;  ///< 0 = all cores
  std::string isa;       ///< empty = best
};

/** Opens a device of the kinds that this build has; another kind is a kDeviceUnavailable. */
Status open_device(const DeviceOptions& options, std::shared_ptr<Device>* out);

}  // namespace markbase
