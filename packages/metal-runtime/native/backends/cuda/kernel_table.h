#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "status.h"

namespace markbase::cuda {

/** A parameter of a compiled kernel. */
struct KernelParameter {
  uint32_t index;  ///< [[buffer(index)]] of its source
  bool is_value;   ///< a struct rather than an address
  size_t bytes;
};

/** The parameters of each compiled kernel, in entry order, as recorded by scripts/build-ptx.mjs. */
class KernelTable {
 public:
  /** Version of the texts and of the meaning of their parameters; scripts/build-ptx.mjs writes it into each. */
  static constexpr int kAbi = 2;

  /** Reads kernels.json. kDeviceUnavailable of `kind` if it is missing or not as expected. */
  static Status load(const std::string& kind, const std::string& path, KernelTable* out);

  /** The parameters of a kernel, or null. */
  const std::vector<KernelParameter>* find(const std::string& kernel) const;

 private:
  std::unordered_map<std::string, std::vector<KernelParameter>> kernels_;
};

}  // namespace markbase::cuda
