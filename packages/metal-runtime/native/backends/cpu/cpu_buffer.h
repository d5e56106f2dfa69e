#pragma once

#include <memory>
#include <utility>

#include "buffer.h"
#include "mapped_file.h"
#include "status.h"

namespace markbase::cpu {

/** Memory that CPU kernels address directly. */
class CpuBuffer : public Buffer {
 public:
  std::byte* data() const { return data_; }

 protected:
  CpuBuffer(std::byte* data, size_t size) : Buffer(size), data_(data) {}

 private:
  std::byte* data_;
};

/** A span of a mapped file. Kernels never write to it. */
class MappedBuffer : public CpuBuffer {
 public:
  MappedBuffer(std::shared_ptr<MappedFile> file, uint64_t offset, uint64_t size)
      : CpuBuffer(const_cast<std::byte*>(file->data()) + offset, size), file_(std::move(file)) {}

  const std::shared_ptr<MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<MappedFile> file_;
};

/** Zeroed pages, which the system backs when they are touched. */
class AnonymousBuffer : public CpuBuffer {
 public:
  static Status create(size_t size, const std::string& label, std::shared_ptr<AnonymousBuffer>* out);
  ~AnonymousBuffer() override;

 private:
  AnonymousBuffer(std::byte* data, size_t size, size_t mapped) : CpuBuffer(data, size), mapped_bytes_(mapped) {}
  size_t mapped_bytes_;
};

}  // namespace markbase::cpu
