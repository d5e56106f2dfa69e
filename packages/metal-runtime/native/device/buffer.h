#pragma once

#include <cstddef>
#include <memory>

namespace markbase {

/** Memory of a device. The last owner, a JavaScript object or a program, frees it. */
class Buffer {
 public:
  virtual ~Buffer() = default;
  size_t size_bytes() const { return size_bytes_; }

 protected:
  explicit Buffer(size_t size_bytes) : size_bytes_(size_bytes) {}

 private:
  size_t size_bytes_;
};

using BufferPtr = std::shared_ptr<Buffer>;

}  // namespace markbase
