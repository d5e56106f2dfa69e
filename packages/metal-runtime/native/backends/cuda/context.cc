#include "context.h"

namespace markbase::cuda {

Status Context::create(const Driver& driver, CUdevice device, std::shared_ptr<Context>* out) {
  std::shared_ptr<Context> context(new Context(driver, device));
  if (const CUresult result = driver.context_retain(&context->context_, device); result != CUDA_SUCCESS) {
    context->context_ = nullptr;
    return driver.error(result, "the context of the GPU");
  }
  *out = std::move(context);
  return Status::good();
}

Context::~Context() {
  if (context_) driver_.context_release(device_);
}

int Context::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return driver_.device_attribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
}

Stream::~Stream() {
  if (!stream_) return;
  const ContextScope scope(*context_);
  context_->driver().stream_destroy(stream_);
}

Status Stream::create() {
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  const CUresult result = driver.stream_create(&stream_, CU_STREAM_NON_BLOCKING);
  return result == CUDA_SUCCESS ? Status::good() : driver.error(result, "a stream of the GPU");
}

Event::~Event() {
  if (!event_) return;
  const ContextScope scope(*context_);
  context_->driver().event_destroy(event_);
}

Status Event::create(unsigned flags) {
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  const CUresult result = driver.event_create(&event_, flags);
  return result == CUDA_SUCCESS ? Status::good() : driver.error(result, "an event of the GPU");
}

PinnedMemory::~PinnedMemory() {
  if (!data_) return;
  const ContextScope scope(*context_);
  context_->driver().host_free(data_);
}

Status PinnedMemory::reserve(size_t bytes, const std::string& label) {
  if (size_bytes_ >= bytes) return Status::good();
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  if (data_) driver.host_free(data_);
  data_ = nullptr;
  size_bytes_ = 0;
  void* memory = nullptr;
  const CUresult result = driver.host_alloc(&memory, bytes);
  if (result != CUDA_SUCCESS) return driver.error(result, label, bytes);
  data_ = static_cast<std::byte*>(memory);
  size_bytes_ = bytes;
  return Status::good();
}

}  // namespace markbase::cuda
