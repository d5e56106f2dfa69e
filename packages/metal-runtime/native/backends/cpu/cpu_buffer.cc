#include "cpu_buffer.h"

#include <sys/mman.h>

namespace markbase::cpu {

Status AnonymousBuffer::create(size_t size, const std::string& label, std::shared_ptr<AnonymousBuffer>* out) {
  const size_t mapped = size == 0 ? 1 : size;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return Status::error(StatusCode::kOutOfMemory, label, {}, size);
  out->reset(new AnonymousBuffer(static_cast<std::byte*>(address), size, mapped));
  return Status::good();
}

AnonymousBuffer::~AnonymousBuffer() { munmap(data(), mapped_bytes_); }

}  // namespace markbase::cpu
