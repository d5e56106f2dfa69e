#pragma once

#include <memory>
#include <string>

#include "driver.h"

namespace markbase::cuda {

/** The primary context of a GPU, retained while any object of it exists. */
class Context {
 public:
  static Status create(const Driver& driver, CUdevice device, std::shared_ptr<Context>* out);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  int attribute(CUdevice_attribute attribute) const;

 private:
  friend class ContextScope;
  Context(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}

  const Driver& driver_;
  const CUdevice device_;
  CUcontext context_ = nullptr;
};

/** Makes a context current on this thread for a scope: driver calls use the current context of their thread. */
class ContextScope {
 public:
  explicit ContextScope(const Context& context) : driver_(context.driver_) { driver_.context_push(context.context_); }
  ~ContextScope() {
    CUcontext popped = nullptr;
    driver_.context_pop(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
};

/** A stream, independent of the default stream, destroyed with its owner. */
class Stream {
 public:
  explicit Stream(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Status create();
  CUstream handle() const { return stream_; }

 private:
  const std::shared_ptr<Context> context_;
  CUstream stream_ = nullptr;
};

/** An event, destroyed with its owner. */
class Event {
 public:
  explicit Event(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /** `flags`: CU_EVENT_DISABLE_TIMING if times are not needed. */
  Status create(unsigned flags);
  CUevent handle() const { return event_; }

 private:
  const std::shared_ptr<Context> context_;
  CUevent event_ = nullptr;
};

/** Pinned host memory that the GPU copies from and to directly, freed with its owner. */
class PinnedMemory {
 public:
  explicit PinnedMemory(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /** Grows to at least `bytes`; growing discards the contents. */
  Status reserve(size_t bytes, const std::string& label);
  std::byte* data() const { return data_; }

 private:
  const std::shared_ptr<Context> context_;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace markbase::cuda
