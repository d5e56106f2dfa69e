#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "status.h"

namespace markbase {

/** Tells whether a path still names the file that was mapped. */
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  bool operator==(const FileIdentity&) const = default;
};

/** kFileAccess with the message of errno for `path`. */
Status file_error(const std::string& path);

/** The identity of a file from the result of stat or fstat; kFileAccess unless it is a regular file. */
Status identify_file(const std::string& path, const struct stat& info, FileIdentity* out);

/** Looks a path up; kFileAccess unless it names a regular file. */
Status identify_file(const std::string& path, FileIdentity* out);

/** kCorruptFile unless bytes [offset, offset + size) lie inside a file of `file_size` bytes. */
Status check_file_range(const std::string& path, uint64_t file_size, uint64_t offset, uint64_t size);

}  // namespace markbase
