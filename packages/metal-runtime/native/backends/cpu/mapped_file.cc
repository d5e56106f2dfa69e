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

}  // namespace

Status identify_file(const std::string& path, uint64_t* device, uint64_t* inode) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return system_error(path);
  *device = info.st_dev;
  *inode = info.st_ino;
  return Status::good();
}

Status MappedFile::open(const std::string& path, std::shared_ptr<MappedFile>* out) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error(path);
  struct stat info {};
  if (fstat(descriptor, &info) != 0) {
    const Status status = system_error(path);
    close(descriptor);
    return status;
  }
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->size_ = static_cast<uint64_t>(info.st_size);
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  if (file->size_ > 0) {
    void* address = mmap(nullptr, file->size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) {
      const Status status = system_error(path);
      close(descriptor);
      return status;
    }
    file->data_ = static_cast<const std::byte*>(address);
    file->guard_ = guard_mapping(address, file->size_);
  }
  close(descriptor);
  *out = std::move(file);
  return Status::good();
}

MappedFile::~MappedFile() {
  unguard_mapping(guard_);
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

bool MappedFile::is_damaged() const { return mapping_is_damaged(guard_); }

}  // namespace markbase::cpu
