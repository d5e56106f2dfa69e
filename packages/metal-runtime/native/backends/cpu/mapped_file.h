#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "buffer.h"
#include "file_identity.h"

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
  uint64_t size() const { return identity_.size; }
  /** True when the file on disk is still the one that was mapped: a damaged mapping, or one of another size, is not. */
  bool is_same_as(const FileIdentity& identity) const { return identity_ == identity && !is_damaged(); }
  bool is_damaged() const;

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  FileIdentity identity_;
  int guard_ = -1;  ///< entry in the table of guarded mappings
};

}  // namespace markbase::cpu
