#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace markbase::test {

/** Memory that ends where an unreadable page begins: the first access beyond it stops the program. */
class GuardedBuffer {
 public:
  /** `slack`: bytes between the end of the data and the guard, which give addresses of every alignment. */
  explicit GuardedBuffer(size_t bytes, size_t slack = 0) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (bytes + slack + page - 1) / page * page;
    mapped_bytes_ = readable + page;
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED || mprotect(static_cast<uint8_t*>(mapped_) + readable, page, PROT_NONE) != 0) abort();
    data_ = static_cast<uint8_t*>(mapped_) + readable - slack - bytes;
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(mapped_, mapped_bytes_); }

  uint8_t* data() const { return data_; }

 private:
  void* mapped_;
  size_t mapped_bytes_;
  uint8_t* data_;
};

}  // namespace markbase::test
