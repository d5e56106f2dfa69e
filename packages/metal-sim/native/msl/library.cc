#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "paths.h"
#include "rewriter.h"
#include "threadgroup.h"

namespace msl {
namespace {

namespace fs = std::filesystem;

/** Two rounds of FNV-1a with different offsets: 128 bits are enough to distinguish kernels. */
class Hash {
 public:
  void add(const std::string& text) {
    for (unsigned char byte : text + '\0') {
      a_ = (a_ ^ byte) * 0x100000001b3ull;
      b_ = (b_ ^ (byte + 131u)) * 0x100000001b3ull;
    }
  }
  std::string text() const {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%016llx%016llx", a_, b_);
    return buffer;
  }

 private:
  unsigned long long a_ = 0xcbf29ce484222325ull;
  unsigned long long b_ = 0x84222325cbf29ce4ull;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/** Hash of all headers, read once per process. */
const std::string& headers_hash() {
  static const std::string hash = [] {
    std::vector<fs::path> files;
    for (const std::string& folder : {include_folder(), stage_folder()}) {
      for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    Hash all;
    for (const fs::path& file : files) all.add(file.filename().string() + read_file(file));
    return all.text();
  }();
  return hash;
}

/** The rewriter and this file affect the output, so a rebuilt simulator recompiles everything. */
const std::string& simulator_hash() {
  static const std::string hash = METAL_SIM_BUILD_HASH;
  return hash;
}

std::string compiler() {
  const char* asked = std::getenv("METAL_SIM_CLANG");
  return asked ? asked : "clang++-19";
}

struct CommandResult {
  bool is_ok;
  std::string output;
};

CommandResult run_command(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {false, "cannot start a shell"};
  std::string output;
  char text[4096];
  while (size_t count = std::fread(text, 1, sizeof text, pipe)) output.append(text, count);
  const int status = pclose(pipe);
  return {status == 0, output};
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/** Processor options: x86-64-v3 if supported, for half precision and fma. */
std::string processor_options() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    return "-march=x86-64-v3";
  }
#endif
  return "";
}

std::string preprocess_options(const CompileOptions& options) {
  std::string text = "-x c++ -std=c++17 -nostdinc -I" + quoted(stage_folder()) +
                     " -D__METAL__=1 -D__METAL_MACOS__=1 -DMETAL_SIM=1 -D__METAL_VERSION__=" + std::to_string(options.language);
  if (options.language >= 400) text += " -D__HAVE_TENSOR__=1";
  if (options.has_fast_math) text += " -D__FAST_MATH__=1";
  for (const auto& [name, value] : options.macros) text += " " + quoted("-D" + name + "=" + value);
  return text;
}

std::string compile_flags(const CompileOptions& options) {
  std::string text =
      "-x c++ -std=c++17 -O2 -gline-tables-only -w -fPIC -shared -fvisibility=hidden -fno-exceptions -fno-rtti "
      "-fno-strict-aliasing -fno-threadsafe-statics -fno-math-errno -nostdinc -fno-stack-protector -fstack-clash-protection "
      "-fno-vectorize -fno-slp-vectorize -Xclang -ffloat16-excess-precision=none "
      "-Xclang -fbfloat16-excess-precision=none -fno-lax-vector-conversions " +
      processor_options() + " -I" + quoted(include_folder());
  text += options.has_fast_math ? " -ffast-math -ffp-contract=fast" : " -ffp-contract=on";
  if (options.has_checks) {
    text +=
        " -DMSL_CHECKS=1 -fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0"
        " -mllvm -tsan-instrument-atomics=0";
  }
  if (!options.coverage_folder.empty()) text += " -fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation";
  return text;
}

std::string cache_key(const std::string& source, const CompileOptions& options) {
  Hash key;
  key.add(std::to_string(MSL_ABI));
  key.add(headers_hash());
  key.add(simulator_hash());
  key.add(compiler());
  key.add(preprocess_options(options));
  key.add(compile_flags(options));
  key.add(options.file_name);
  key.add(source);
  return key.text();
}

/** Removes its folder when destroyed. */
struct WorkFolder {
  fs::path path;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/** Writes `target`; returns an error message on failure. */
std::string build(const std::string& source, const CompileOptions& options, const fs::path& target) {
  WorkFolder work{target.string() + ".work." + std::to_string(getpid())};
  std::error_code failed;
  fs::create_directories(work.path, failed);
  if (failed) return "cannot create " + work.path.string() + ": " + failed.message();
  const std::string go = "cd " + quoted(work.path.string()) + " && ";
  std::ofstream(work.path / options.file_name, std::ios::binary) << source;
  const std::string name = quoted(options.file_name);
  // Coverage is reported for this file, so it must exist.
  const bool is_kept = !options.coverage_folder.empty() || std::getenv("METAL_SIM_KEEP") != nullptr;
  const fs::path generated = is_kept ? fs::path(target.string() + ".cc") : work.path / "kernels.cc";
  CommandResult done = run_command(go + compiler() + " -E " + preprocess_options(options) + " " + name + " -o staged.i");
  if (!done.is_ok) return done.output;
  try {
    std::ofstream(generated, std::ios::binary) << rewrite(read_file(work.path / "staged.i"));
  } catch (const RewriteError& error) {
    return error.what();
  }
  std::string link = options.has_checks ? " -fno-sanitize-link-runtime" : "";
  done = run_command(go + compiler() + " " + compile_flags(options) + link + " " + quoted(generated.string()) + " -o kernels.so");
  if (!done.is_ok) return done.output;
  // Renaming is atomic: two processes may compile the same kernels.
  fs::rename(work.path / "kernels.so", target, failed);
  return failed ? "cannot write " + target.string() + ": " + failed.message() : "";
}

struct LoadedRange {
  const void* inside;
  const char* begin;
  const char* end;
};

/** The pages of a loaded file that contain an address. */
LoadedRange loaded_range(const void* inside) {
  LoadedRange range{inside, nullptr, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* found = static_cast<LoadedRange*>(data);
        const char *low = nullptr, *high = nullptr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          const char* begin = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          low = low && low < begin ? low : begin;
          high = std::max(high, begin + header.p_memsz);
        }
        if (found->inside < low || found->inside >= high) return 0;
        found->begin = low;
        found->end = high;
        return 1;
      },
      &range);
  return range;
}

}  // namespace

CompileOptions compile_options_from_environment() {
  CompileOptions options;
  if (const char* checks = std::getenv("METAL_SIM_CHECK")) options.has_checks = std::strcmp(checks, "1") == 0;
  if (const char* folder = std::getenv("METAL_SIM_COVERAGE")) options.coverage_folder = folder;
  return options;
}

std::shared_ptr<Library> Library::compile(const std::string& source, const CompileOptions& options, std::string* error) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  const fs::path target = fs::path(cache_folder()) / (cache_key(source, options) + ".so");
  if (!fs::exists(target)) {
    *error = build(source, options, target);
    if (!error->empty()) return nullptr;
  }
  std::shared_ptr<Library> library(new Library);
  library->handle_ = dlopen(target.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle_) {
    *error = dlerror();
    return nullptr;
  }
  auto get_module = reinterpret_cast<const Module* (*)()>(dlsym(library->handle_, "msl_module"));
  library->module_ = get_module();
  library->has_checks_ = options.has_checks;
  const LoadedRange range = loaded_range(library->module_);
  library->begin_ = range.begin;
  library->end_ = range.end;
  library->module_->bind(runtime_functions());
  return library;
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

const KernelRecord* Library::find(const std::string& name) const {
  for (unsigned i = 0; i < module_->kernel_count; ++i) {
    if (name == module_->kernels[i].name) return &module_->kernels[i];
  }
  return nullptr;
}

}  // namespace msl
