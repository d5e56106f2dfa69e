#pragma once

#include <functional>
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
  float* data;                     ///< of an input of bytes: null
  size_t count;                    ///< elements
  const uint8_t* bytes = nullptr;  ///< of an input: each stands for one of 256 numbers
  const float* values = nullptr;   ///< [256]
};

/** Numbers that a byte can stand for. */
inline constexpr size_t kByteValues = 256;

/** One step: what kernels see, what is copied in before and out after. All pointers stay valid until it has ended. */
struct StepCall {
  StepView view{};
  std::vector<PortData> inputs;
  std::vector<PortData> outputs;
  int32_t* sampled = nullptr;     ///< [N]
  float* logprobs = nullptr;      ///< [N]
  int32_t* top_tokens = nullptr;  ///< [N, kMaxTopLogprobs]
  float* top_logprobs = nullptr;  ///< [N, kMaxTopLogprobs]
  /** Becomes other than 0, on any thread, when the caller wants the step to stop: before it starts, or at its next command. */
  const int32_t* cancel_flag = nullptr;

  bool is_cancelled() const { return cancel_flag && __atomic_load_n(cancel_flag, __ATOMIC_RELAXED) != 0; }
};

/** What a command became on a backend. */
struct PlannedCommand {
  std::string kernel;
  uint32_t phases;
};

/** How large a step is, for looking at what it would be made of. */
struct StepSize {
  uint32_t rows;       ///< T
  uint32_t outputs;    ///< N
  uint32_t positions;  ///< the last position of a row, plus 1
};

/** One launch of a kernel in a step, on backends that launch kernels. */
struct PlannedDispatch {
  std::string kernel;
  size_t command;  ///< index of the command that it belongs to
  uint32_t groups[3];
  uint32_t threads;  ///< a threadgroup
  uint32_t threadgroup_bytes;
  bool has_barrier;           ///< it waits for those before it
  uint64_t activation_bytes;  ///< of the activations that it reads or writes, each counted once; see list_dispatches
};

/** Called once, on any thread, when a step has ended: well, with an error, or with kCancelled because its caller stopped it. */
using StepEnd = std::function<void(Status)>;

/** A program that a backend prepared. Steps of one device run one after the other, in the order of their starts. */
class Program {
 public:
  virtual ~Program() = default;
  /** Starts a step and returns at once. Both the program and `step` must live until `end` is called. */
  virtual void start(const StepCall& step, StepEnd end) = 0;
  virtual std::vector<PlannedCommand> plan() const = 0;
  /** The launches of a step, as they are encoded; none on backends without launches. */
  virtual Status plan_step(const StepSize&, std::vector<PlannedDispatch>*) const { return Status::good(); }
  /** Seconds that each command took in all steps so far; zeros unless the description asks to measure. */
  virtual std::vector<double> seconds() const = 0;
};

struct DeviceInfo {
  std::string kind;
  std::string name;
  std::string isa;
  uint32_t threads;
  uint64_t total_memory_bytes;
  std::string driver{};  ///< version of what drives it; empty where that says nothing
};

/** What a device copies of mapped files into memory of its own; zeros where they are read in place. */
struct UploadCounts {
  uint64_t queued_bytes = 0;   ///< so far, less what cannot be read
  uint64_t arrived_bytes = 0;  ///< of those
};

/** A backend's device. */
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  /** Maps a span of a file, read-only. */
  virtual Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) = 0;
  /** How far the copies of what was mapped are; on any thread. */
  virtual UploadCounts uploads() const { return {}; }
  virtual Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) = 0;
  /** Zeroed memory for programs alone: the host cannot reach it. */
  virtual Status allocate(size_t size, const std::string& label, BufferPtr* out) = 0;
  /**
   * Says whether the device has so much memory free, before anything is loaded: kOutOfMemory. Where weights are read in place, they
   * take none.
   */
  virtual Status require_memory(uint64_t, const std::string&) const { return Status::good(); }
  virtual Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) = 0;
  /** Cancels whatever runs and waits until every step has ended; later ones fail with kCancelled. */
  virtual void shut_down() = 0;
};

struct DeviceOptions {
  std::string kind;      ///< "auto", "cpu", "metal", "cuda", "metal-sim"
  uint32_t threads = 0;  ///< 0 = all cores
  std::string isa;       ///< empty = best
};

/**
 * Opens a device of the kinds that this build has; another kind is a kDeviceUnavailable.
 *
 * @param note why "auto" did not take a GPU that is there; empty otherwise
 */
Status open_device(const DeviceOptions& options, std::shared_ptr<Device>* out, std::string* note);

}  // namespace markbase
