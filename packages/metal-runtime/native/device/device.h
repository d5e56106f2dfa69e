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
  float* data;                     ///< null for an input of bytes
  size_t count;                    ///< elements
  const uint8_t* bytes = nullptr;  ///< for an input of bytes: each encodes one of 256 values
  const float* values = nullptr;   ///< [256]
};

/** Number of values that a byte can encode. */
inline constexpr size_t kByteValues = 256;

/** One step: what kernels read, and what is copied in before and out after it. All pointers stay valid until it has ended. */
struct StepCall {
  StepView view{};
  std::vector<PortData> inputs;
  std::vector<PortData> outputs;
  int32_t* sampled = nullptr;     ///< [N]
  float* logprobs = nullptr;      ///< [N]
  int32_t* top_tokens = nullptr;  ///< [N, kMaxTopLogprobs]
  float* top_logprobs = nullptr;  ///< [N, kMaxTopLogprobs]
  /** Set to a value other than 0, on any thread, to stop the step before it starts or at its next command. */
  const int32_t* cancel_flag = nullptr;

  bool is_cancelled() const { return cancel_flag && __atomic_load_n(cancel_flag, __ATOMIC_RELAXED) != 0; }
};

/** The dispatches of a command on a backend. */
struct PlannedCommand {
  std::string kernel;
  uint32_t phases;
};

/** The size of a step whose launches are inspected. */
struct StepSize {
  uint32_t rows;       ///< T
  uint32_t outputs;    ///< N
  uint32_t positions;  ///< the last position of a row, plus 1
};

/** One launch of a kernel in a step, on backends that launch kernels. */
struct PlannedDispatch {
  std::string kernel;
  size_t command;  ///< index of its command
  uint32_t groups[3];
  uint32_t threads;  ///< per threadgroup
  uint32_t threadgroup_bytes;
  bool has_barrier;           ///< it waits for earlier launches
  uint64_t activation_bytes;  ///< of the activations that it reads or writes, each counted once; see list_dispatches
};

/** Called once, on any thread, when a step has ended: successfully, with an error, or with kCancelled if its caller stopped it. */
using StepEnd = std::function<void(Status)>;

/** A program that a backend has prepared. Steps of one device run one at a time, in the order in which they were started. */
class Program {
 public:
  virtual ~Program() = default;
  /** Starts a step and returns immediately. Both the program and `step` must live until `end` is called. */
  virtual void start(const StepCall& step, StepEnd end) = 0;
  virtual std::vector<PlannedCommand> plan() const = 0;
  /** The launches of a step, as they are encoded; none on backends without launches. */
  virtual Status plan_step(const StepSize&, std::vector<PlannedDispatch>*) const { return Status::good(); }
  /** Total seconds of each command in all steps so far; zeros unless the description requests measuring. */
  virtual std::vector<double> seconds() const = 0;
};

struct DeviceInfo {
  std::string kind;
  std::string name;
  std::string isa;
  uint32_t threads;
  uint64_t total_memory_bytes;
  std::string driver{};  ///< version of its driver; empty if it has none
};

/** Bytes of mapped files that a device copies into its own memory; zeros if they are read in place. */
struct UploadCounts {
  uint64_t queued_bytes = 0;   ///< so far, without what cannot be read
  uint64_t arrived_bytes = 0;  ///< of those
};

/** Pieces of a buffer, at multiples of their size, which lie side by side in the host's memory. */
struct BufferPieces {
  size_t piece_bytes;  ///< a multiple of 4
  const int32_t* indices;
  size_t count;

  size_t size_bytes() const { return piece_bytes * count; }
  /** Calls `copy` with the offset in the buffer, the offset in the host's memory, and the bytes of each run of adjacent pieces. */
  template <typename Copy>
  void for_each_run(const Copy& copy) const {
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && indices[end] == indices[end - 1] + 1;) ++end;
      copy(piece_bytes * static_cast<size_t>(indices[begin]), piece_bytes * begin, piece_bytes * (end - begin));
    }
  }
};

/** A backend's device. */
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  /** Maps a span of a file, read-only. */
  virtual Status map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) = 0;
  /** Progress of the copies of mapped files; may be called on any thread. */
  virtual UploadCounts uploads() const { return {}; }
  virtual Status upload(const void* data, size_t size, const std::string& label, BufferPtr* out) = 0;
  /** Zeroed memory for programs; the host cannot access it. */
  virtual Status allocate(size_t size, const std::string& label, BufferPtr* out) = 0;
  /** Copies pieces of memory that `allocate` returned to the host. No step may be running. */
  virtual Status read(const Buffer& from, const BufferPieces& pieces, std::byte* to) = 0;
  /** Copies pieces from the host to memory that `allocate` returned, before it returns. No step may be running. */
  virtual Status write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) = 0;
  /**
   * Checks, before anything is loaded, that the device has this much free memory: kOutOfMemory if not. Weights that are read in place take
   * none.
   */
  virtual Status require_memory(uint64_t, const std::string&) const { return Status::good(); }
  virtual Status create_program(ProgramDescription description, std::shared_ptr<Program>* out) = 0;
  /** Cancels running steps and waits until they have ended; later ones fail with kCancelled. */
  virtual void shut_down() = 0;
};

struct DeviceOptions {
  std::string kind;      ///< "auto", "cpu", "metal", "cuda", "metal-sim"
  uint32_t threads = 0;  ///< 0 = all cores
  std::string isa;       ///< empty = best
};

/**
 * Opens a device of a kind that this build supports; other kinds give kDeviceUnavailable.
 *
 * @param note why "auto" did not choose an existing GPU; empty otherwise
 */
Status open_device(const DeviceOptions& options, std::shared_ptr<Device>* out, std::string* note);

}  // namespace markbase
