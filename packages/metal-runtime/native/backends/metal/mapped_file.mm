#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "metal_text.h"

namespace markbase::metal {

namespace {

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

/** A buffer over whole pages that stay mapped as long as the file. */
id<MTLBuffer> wrap_pages(id<MTLDevice> device, void* pages, uint64_t size) {
  return [device newBufferWithBytesNoCopy:pages length:size options:MTLResourceStorageModeShared deallocator:nil];
}

}  // namespace

Status MappedFile::open(id<MTLDevice> device, const std::string& path, std::shared_ptr<MappedFile>* out) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (file->descriptor_ < 0 || fstat(file->descriptor_, &info) != 0) return file_error(path);
  if (Status status = identify_file(path, info, &file->identity_); !status.ok()) return status;
  if (file->size() > 0) {
    void* address = mmap(nullptr, file->size(), PROT_READ, MAP_SHARED, file->descriptor_, 0);
    if (address == MAP_FAILED) return file_error(path);
    file->data_ = static_cast<std::byte*>(address);
    const uint64_t mapped = (file->size() + page_bytes() - 1) / page_bytes() * page_bytes();
    if (mapped <= device.maxBufferLength) file->whole_ = wrap_pages(device, address, mapped);
    file->whole_.label = to_ns_string(path);
  }
  *out = std::move(file);
  return Status::good();
}

MappedFile::~MappedFile() {
  whole_ = nil;
  if (data_) munmap(data_, size());
  if (descriptor_ >= 0) close(descriptor_);
}

bool MappedFile::is_shorter() const {
  struct stat info{};
  return fstat(descriptor_, &info) != 0 || static_cast<uint64_t>(info.st_size) < size();
}

Status MappedFile::buffer(id<MTLDevice> device, uint64_t offset, uint64_t size, id<MTLBuffer> __strong* out, size_t* begin) const {
  if (whole_) {
    *out = whole_;
    *begin = offset;
    return Status::good();
  }
  if (size == 0) {
    *out = [device newBufferWithLength:page_bytes() options:MTLResourceStorageModeShared];
    *begin = 0;
    return *out ? Status::good() : Status::error(StatusCode::kOutOfMemory, path_, {}, page_bytes());
  }
  const uint64_t first = offset / page_bytes() * page_bytes();
  const uint64_t end = (offset + size + page_bytes() - 1) / page_bytes() * page_bytes();
  *out = wrap_pages(device, data_ + first, end - first);
  *begin = offset - first;
  if (*out) return Status::good();
  return Status::error(StatusCode::kOutOfMemory, path_, "the GPU cannot address the range", size);
}

}  // namespace markbase::metal
