#include "upload.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <system_error>
#include <thread>
#include <vector>

namespace markbase::cuda {

namespace {

/** Large enough for the full rate of the bus, small enough for several threads. */
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kMostThreads = 8;
/** How long a thread waits for more work before it frees its pinned memory. */
constexpr std::chrono::milliseconds kIdleTime{200};

}  // namespace

Status Upload::wait() const {
  for (size_t left = pieces_left_.load(std::memory_order_acquire); left > 0; left = pieces_left_.load(std::memory_order_acquire)) {
    pieces_left_.wait(left, std::memory_order_acquire);
  }
  return status_;
}

void Upload::finish_piece(Status status) {
  if (!status.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  pieces_left_.fetch_sub(1, std::memory_order_acq_rel);
  pieces_left_.notify_all();
}

SourceFile::~SourceFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status SourceFile::read(uint64_t offset, size_t size, std::byte* to) const {
  for (size_t done = 0; done < size;) {
    const ssize_t count = pread(descriptor_, to + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::error(StatusCode::kFileAccess, path_, std::strerror(errno));
    if (count == 0) {
      const char* reason = "the file became shorter while it was loaded; restore it and load the model again";
      return Status::error(StatusCode::kCorruptFile, path_, reason);
    }
    done += static_cast<size_t>(count);
  }
  return Status::good();
}

/** A part of a range. */
struct Uploader::Piece {
  std::shared_ptr<SourceFile> file;
  uint64_t offset;
  size_t size;
  CUdeviceptr to;
  std::shared_ptr<Upload> upload;
};

struct Uploader::State {
  explicit State(std::shared_ptr<Context> owner) : context(std::move(owner)) {}

  /** A piece has arrived or failed: counted before waiting threads continue. */
  void finish_piece(Upload& upload, size_t size, Status status) {
    if (status.ok()) arrived_bytes.fetch_add(size, std::memory_order_release);
    else queued_bytes.fetch_sub(size, std::memory_order_relaxed);
    upload.finish_piece(std::move(status));
  }

  const std::shared_ptr<Context> context;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> pieces;
  size_t threads = 0;  ///< number of existing threads
  size_t workers = 0;  ///< of these, how many will look for pieces again
  size_t idle = 0;     ///< of these, how many wait for a piece
  bool is_stopping = false;
  std::atomic<uint64_t> queued_bytes = 0;
  std::atomic<uint64_t> arrived_bytes = 0;
};

/** A thread's stream and its two buffers. */
class Uploader::Worker {
 public:
  explicit Worker(std::shared_ptr<State> state)
      : state_(std::move(state)), stream_(state_->context), slots_{Slot(state_->context), Slot(state_->context)} {}

  /** Works until there has been nothing to do for a while. */
  void work() {
    const Status ready = prepare();
    std::unique_lock<std::mutex> lock(state_->mutex);
    while (true) {
      if (state_->pieces.empty()) {
        lock.unlock();
        drain();
        lock.lock();
        ++state_->idle;
        // By the system's clock: `wait_for` needs glibc 2.30. If somebody sets the clock, the thread only stays for longer or shorter.
        const auto until = std::chrono::system_clock::now() + kIdleTime;
        state_->changed.wait_until(lock, until, [&] { return state_->is_stopping || !state_->pieces.empty(); });
        --state_->idle;
        if (state_->pieces.empty()) break;
      }
      Piece piece = std::move(state_->pieces.front());
      state_->pieces.pop_front();
      lock.unlock();
      take(std::move(piece), ready);
      lock.lock();
    }
    --state_->workers;
  }

 private:
  /** A buffer and the piece that is being copied from it. */
  struct Slot {
    explicit Slot(const std::shared_ptr<Context>& context) : memory(context), copied(context) {}
    PinnedMemory memory;
    Event copied;
    std::shared_ptr<Upload> upload;
    size_t size = 0;
  };

  Status prepare() {
    if (Status status = stream_.create(); !status.ok()) return status;
    for (Slot& slot : slots_) {
      if (Status status = slot.memory.reserve(kPieceBytes, "buffers of the upload"); !status.ok()) return status;
      if (Status status = slot.copied.create(CU_EVENT_DISABLE_TIMING); !status.ok()) return status;
    }
    return Status::good();
  }

  /** Reads a piece and starts its copy. */
  void take(Piece piece, const Status& ready) {
    Slot& slot = slots_[next_];
    next_ = 1 - next_;
    finish(slot);
    Status status = ready.ok() ? piece.file->read(piece.offset, piece.size, slot.memory.data()) : ready;
    if (status.ok()) {
      const ContextScope scope(*state_->context);
      const Driver& driver = state_->context->driver();
      CUresult result = driver.copy_to_device(piece.to, slot.memory.data(), piece.size, stream_.handle());
      if (result == CUDA_SUCCESS) result = driver.event_record(slot.copied.handle(), stream_.handle());
      if (result != CUDA_SUCCESS) status = driver.error(result, piece.file->path());
    }
    if (!status.ok()) return state_->finish_piece(*piece.upload, piece.size, std::move(status));
    slot.upload = std::move(piece.upload);
    slot.size = piece.size;
  }

  /** Waits for the copy from a buffer. */
  void finish(Slot& slot) {
    if (!slot.upload) return;
    Status status;
    {
      const ContextScope scope(*state_->context);
      const Driver& driver = state_->context->driver();
      const CUresult result = driver.event_synchronize(slot.copied.handle());
      if (result != CUDA_SUCCESS) status = driver.error(result, "the upload of weights");
    }
    state_->finish_piece(*slot.upload, slot.size, std::move(status));
    slot.upload = nullptr;
  }

  void drain() {
    finish(slots_[next_]);
    finish(slots_[1 - next_]);
  }

  const std::shared_ptr<State> state_;
  Stream stream_;
  Slot slots_[2];
  size_t next_ = 0;
};

void Uploader::run(const std::shared_ptr<State>& state) {
  Worker(state).work();
  const std::lock_guard<std::mutex> lock(state->mutex);
  --state->threads;
  state->changed.notify_all();
}

Uploader::Uploader(std::shared_ptr<Context> context) : state_(std::make_shared<State>(std::move(context))) {}

Uploader::~Uploader() { stop(); }

void Uploader::stop() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->is_stopping = true;
  for (Piece& piece : state_->pieces) {
    state_->finish_piece(*piece.upload, piece.size, Status::error(StatusCode::kCancelled, piece.file->path()));
  }
  state_->pieces.clear();
  state_->changed.notify_all();
  // Pieces that were read are already being copied and will arrive.
  state_->changed.wait(lock, [&] { return state_->threads == 0; });
  state_->is_stopping = false;
}

UploadCounts Uploader::counts() const {
  // Read first, so that it never exceeds the queued bytes.
  const uint64_t arrived_bytes = state_->arrived_bytes.load(std::memory_order_acquire);
  return {state_->queued_bytes.load(std::memory_order_relaxed), arrived_bytes};
}

std::shared_ptr<Upload> Uploader::start(std::shared_ptr<SourceFile> file, uint64_t offset, size_t size, std::shared_ptr<Region> region) {
  const size_t count = (size + kPieceBytes - 1) / kPieceBytes;
  auto upload = std::make_shared<Upload>(std::move(region), count);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->queued_bytes.fetch_add(size, std::memory_order_relaxed);
  for (size_t begin = 0; begin < size; begin += kPieceBytes) {
    state_->pieces.push_back({file, offset + begin, std::min(kPieceBytes, size - begin), upload->region()->address() + begin, upload});
  }
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, kMostThreads);
  try {
    for (size_t ready = state_->idle; state_->workers < most && ready < state_->pieces.size(); ++ready) {
      std::thread([state = state_] { run(state); }).detach();
      ++state_->workers;
      ++state_->threads;
    }
  } catch (const std::system_error&) {
    // Reached only on a system without more threads: fewer can do the same work; with none, nothing is started.
    if (state_->workers == 0) {
      state_->pieces.clear();
      state_->queued_bytes.fetch_sub(size, std::memory_order_relaxed);
      throw;
    }
  }
  state_->changed.notify_all();
  return upload;
}

}  // namespace markbase::cuda
