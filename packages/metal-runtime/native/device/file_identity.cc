#include "file_identity.h"

#include <cerrno>
#include <cstring>

namespace markbase {

Status file_error(const std::string& path) { return Status::error(StatusCode::kFileAccess, path, std::strerror(errno)); }

Status identify_file(const std::string& path, const struct stat& info, FileIdentity* out) {
  if (!S_ISREG(info.st_mode)) return Status::error(StatusCode::kFileAccess, path, "it is not a regular file");
  *out = {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino), static_cast<uint64_t>(info.st_size)};
  return Status::good();
}

Status identify_file(const std::string& path, FileIdentity* out) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return file_error(path);
  return identify_file(path, info, out);
}

Status check_file_range(const std::string& path, uint64_t file_size, uint64_t offset, uint64_t size) {
  if (offset <= file_size && size <= file_size - offset) return Status::good();
  const std::string reason = "bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
                             " lie outside the file, which has " + std::to_string(file_size);
  return Status::error(StatusCode::kCorruptFile, path, reason);
}

}  // namespace markbase
