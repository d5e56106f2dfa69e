#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "buffer.h"
#include "status.h"

namespace markbase::cpu {

/**
 * A whole file, mapped read-only. When another process truncates the file, reading a lost page does not kill this
 * process: the page reads as zeros and `is_damaged` becomes true, which the device turns into an error of the step.
 */
class MappedFile {
 public:
  static Status open(const std::string& path, std::shared_ptr<MappedFile>* out);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  /** True when the file on disk is still the one that was mapped. */
  bool is_same_as(uint64_t device, uint64_t inode) const { return device_ == device && inode_ == inode; }
  bool is_damaged() const;

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  int guard_ = -1;  ///< entry in the table of guarded mappings
};

/** Device and inode of a file, to tell whether a path still names a file that is mapped already. */
Status identify_file(const std::string& path, uint64_t* device, uint64_t* inode);

}  // namespace markbase::cpu
