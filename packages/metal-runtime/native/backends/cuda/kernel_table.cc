#include "kernel_table.h"

#include <fstream>
#include <iterator>

#include "json.h"

namespace markbase::cuda {

Status KernelTable::load(const std::string& kind, const std::string& path, KernelTable* out) {
  const auto unavailable = [&](const std::string& reason) { return Status::error(StatusCode::kDeviceUnavailable, kind, reason); };
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return unavailable("this build has no CUDA kernels: " + path + " is missing (scripts/build-ptx.mjs makes them; it needs clang-19)");
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto table = Json::parse(text);
  if (!table || (*table)["abi"].number != kAbi) {
    // Reached only with kernels of another version.
    return unavailable(path + " belongs to another version: build the kernels again, or reinstall the package");
  }
  for (const auto& [source, kernels] : (*table)["sources"].members) {
    for (const auto& [kernel, description] : kernels.members) {
      std::vector<KernelParameter>& parameters = out->kernels_[kernel];
      for (const Json& parameter : description["parameters"].items) {
        parameters.push_back({static_cast<uint32_t>(parameter["index"].number), parameter["kind"].text == "value",
                              static_cast<size_t>(parameter["bytes"].number)});
      }
    }
  }
  return Status::good();
}

const std::vector<KernelParameter>* KernelTable::find(const std::string& kernel) const {
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? nullptr : &found->second;
}

}  // namespace markbase::cuda
