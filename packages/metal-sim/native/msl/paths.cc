#include "paths.h"

#include <cstdlib>
#include <filesystem>

namespace msl {

std::string msl_folder() {
  const char* asked = std::getenv("METAL_SIM_MSL");
  return asked ? asked : METAL_SIM_MSL_FOLDER;
}

std::string cache_folder() {
  std::string folder;
  if (const char* asked = std::getenv("METAL_SIM_CACHE")) folder = asked;
  else if (const char* cache = std::getenv("XDG_CACHE_HOME")) folder = std::string(cache) + "/metal-sim";
  else if (const char* home = std::getenv("HOME")) folder = std::string(home) + "/.cache/metal-sim";
  else folder = std::filesystem::temp_directory_path().string() + "/metal-sim";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

}  // namespace msl
