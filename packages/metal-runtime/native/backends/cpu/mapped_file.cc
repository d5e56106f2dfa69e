#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "page_guard.h"

namespace markbase::cpu {

namespace {

Status system_error(const std::string& path) {
  return Status::error(StatusCode::kFileAccess, path, std::strerror(errno));
}

/** A descriptor that is closed at the end of its scope. */
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

Status identify(const std::string& path, const struct stat& info, FileIdentity* out) {
  if (!S_ISREG(info.st_mode)) return Status::error(StatusCode::kFileAccess, path, "it is not a regular file");
  *out = {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino), static_cast<uint64_t>(info.st_size)};
  return Status::good();
}

}  // namespace

Status identify_file(const std::string& path, FileIdentity* out) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return system_error(path);
  return identify(path, info, out);
}

Status MappedFile::open(const std::string& path, std::shared_ptr<MappedFile>* out) {
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (descriptor.value < 0 || fstat(descriptor.value, &info) != 0) return system_error(path);
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  if (Status status = identify(path, info, &file->identity_); !status.ok()) return status;
  if (file->size() > 0) {
    void* address = mmap(nullptr, file->size(), PROT_READ, MAP_SHARED, descriptor.value, 0);
    if (address == MAP_FAILED) return system_error(path);
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
