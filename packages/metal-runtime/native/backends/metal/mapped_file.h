#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>
#include <string>

#include "file_identity.h"

namespace markbase::metal {

/** A whole file, mapped read-only for the processor and, if a buffer can be that large, also for the GPU. */
class MappedFile {
 public:
  static Status open(id<MTLDevice> device, const std::string& path, std::shared_ptr<MappedFile>* out);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return identity_.size; }
  bool is_same_as(const FileIdentity& identity) const { return identity_ == identity && !is_shorter(); }
  /** True once the file was truncated: reading the lost bytes would fault. */
  bool is_shorter() const;
  /** A buffer over the pages of [offset, offset + size), and the offset of the range in it. */
  Status buffer(id<MTLDevice> device, uint64_t offset, uint64_t size, id<MTLBuffer> __strong* out, size_t* begin) const;

 private:
  MappedFile() = default;
  std::string path_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  FileIdentity identity_;
  id<MTLBuffer> whole_ = nil;
};

}  // namespace markbase::metal
