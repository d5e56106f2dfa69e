#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device.h"
#include "memory_pool.h"

namespace markbase::cuda {

/** A range of a file that is being copied to the GPU's memory. */
class Upload {
 public:
  Upload(std::shared_ptr<Region> region, size_t pieces) : region_(std::move(region)), pieces_left_(pieces) {}

  const std::shared_ptr<Region>& region() const { return region_; }
  bool is_done() const { return pieces_left_.load(std::memory_order_acquire) == 0; }
  /** Waits until the range has arrived; returns the error if it failed. */
  Status wait() const;

 private:
  friend class Uploader;
  /** A piece has arrived or failed. */
  void finish_piece(Status status);

  const std::shared_ptr<Region> region_;
  std::atomic<size_t> pieces_left_;
  std::mutex mutex_;
  Status status_;  ///< guarded by the mutex until the upload is done
};

/** A file that ranges are read from, open while an upload is pending. */
class SourceFile {
 public:
  SourceFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& path() const { return path_; }
  /** Negative when the file could not be opened. */
  int descriptor() const { return descriptor_; }
  /** Reads bytes [offset, offset + size); kCorruptFile when the file has become shorter. */
  Status read(uint64_t offset, size_t size, std::byte* to) const;

 private:
  const std::string path_;
  const int descriptor_;
};

/**
 * Copies file ranges to the GPU's memory on its own threads, which live while there is work. Each reads pieces directly from the page cache
 * into one of two pinned buffers while the GPU copies from the other.
 */
class Uploader {
 public:
  explicit Uploader(std::shared_ptr<Context> context);
  /** Cancels what has not been read yet. */
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  /** Queues bytes [offset, offset + size) of a file. Throws std::system_error if no thread can be started. */
  std::shared_ptr<Upload> start(std::shared_ptr<SourceFile> file, uint64_t offset, size_t size, std::shared_ptr<Region> region);
  /** Bytes of all uploads so far, without those that failed, and how many of them have arrived. */
  UploadCounts counts() const;
  /** Cancels what has not been read yet; those uploads end with kCancelled. */
  void stop();

 private:
  struct State;
  struct Piece;
  class Worker;
  static void run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  ///< shared with the threads, the last of which may end after this
};

}  // namespace markbase::cuda
