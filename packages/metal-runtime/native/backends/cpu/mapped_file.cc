#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page_guard.h"

namespace markbase::cpu {

namespace {

/** A descriptor that is closed at the end of its scope. */
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

}  // namespace

Status MappedFile::open(const std::string& path, std::shared_ptr<MappedFile>* out) {
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info{};
  if (descriptor.value < 0 || fstat(descriptor.value, &info) != 0) return file_error(path);
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  if (Status status = identify_file(path, info, &file->identity_); !status.ok()) return status;
  if (file->size() > 0) {
    void* address = mmap(nullptr, file->size(), PROT_READ, MAP_SHARED, descriptor.value, 0);
    if (address == MAP_FAILED) return file_error(path);
    file->data_ = static_cast<const std::byte*>(address);
    file->guard_ = guard_mapping(address, file->size());
  }
  *out = std::move(file);
  return Status::good();
}

MappedFile::~MappedFile() {
  unguard_mapping(guard_);
  if (data_) munmap(const_cast<std::byte*>(data_), size());
}

bool MappedFile::is_damaged() const { return mapping_is_damaged(guard_); }

}  // namespace markbase::cpu
