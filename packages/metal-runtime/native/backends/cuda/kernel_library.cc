#include "kernel_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace markbase::cuda {

namespace {

/** Maximum number of kernels that are compiled concurrently. */
constexpr size_t kMostThreads = 8;

constexpr size_t kLogBytes = 8192;

/** MARKBASE_PTX, or the folder next to the addon. */
std::string ptx_folder() {
  if (const char* asked = std::getenv("MARKBASE_PTX"); asked && *asked) return asked;
  // Reached only by an installed addon, which has its kernels next to it.
  Dl_info addon{};
  if (dladdr(reinterpret_cast<const void*>(&ptx_folder), &addon) == 0 || !addon.dli_fname) return "ptx";
  const std::string file = addon.dli_fname;
  const size_t slash = file.rfind('/');
  return (slash == std::string::npos ? std::string() : file.substr(0, slash + 1)) + "ptx";
}

/** First line of every text; see docs/cuda.md. */
std::string header_of(const std::string& kernel, const std::string& arch) {
  return "// markbase: kernel=" + kernel + " arch=" + arch + " abi=" + std::to_string(KernelTable::kAbi) + " ";
}

Status compile_error(const std::string& kernel, const std::string& reason) {
  return Status::error(StatusCode::kDevice, kernel, "the kernel does not load on this system: " + reason);
}

}  // namespace

Status KernelLibrary::open(const std::string& kind, std::shared_ptr<Context> context, std::unique_ptr<KernelLibrary>* out) {
  std::unique_ptr<KernelLibrary> library(new KernelLibrary(std::move(context)));
  const std::string folder = ptx_folder();
  if (Status status = KernelTable::load(kind, folder + "/kernels.json", &library->table_); !status.ok()) return status;
  const int major = library->context_->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  library->arch_ = major >= 9 ? "sm_90" : "sm_80";
  library->folder_ = folder + "/" + library->arch_ + "/";
  *out = std::move(library);
  return Status::good();
}

KernelLibrary::~KernelLibrary() {
  const ContextScope scope(*context_);
  for (const auto& [name, module] : modules_) context_->driver().module_unload(module);
}

Status KernelLibrary::compile(const std::string& name, CUmodule* out) const {
  std::ifstream file(folder_ + name + ".ptx", std::ios::binary);
  if (!file) return Status::error(StatusCode::kDevice, name, "this build lacks the CUDA kernel for " + arch_);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string header = header_of(name, arch_);
  if (text.compare(0, header.size(), header) != 0) {
    // Reached only with the text of another build.
    return compile_error(name, "its text begins with \"" + text.substr(0, text.find('\n')) + "\", expected \"" + header + "\"");
  }
  std::vector<char> log(kLogBytes, '\0');
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The driver takes numbers through these pointers.
  void* values[] = {log.data(), reinterpret_cast<void*>(static_cast<uintptr_t>(log.size() - 1))};
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  const CUresult result = driver.module_load(out, text.c_str(), 2, names, values);
  if (result == CUDA_SUCCESS) return Status::good();
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return driver.error(result, name, text.size());
  std::string reason = driver.describe(result);
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    reason += " (the driver supports CUDA " + version_text(driver.version) + ": update it)";
  }
  if (log[0] != '\0') reason += std::string("; ") + log.data();
  return compile_error(name, reason);
}

Status KernelLibrary::load(const std::vector<std::string>& kernels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> missing;
  for (const std::string& name : kernels) {
    if (modules_.count(name) == 0 && std::find(missing.begin(), missing.end(), name) == missing.end()) {
      missing.push_back(name);
    }
  }
  std::vector<CUmodule> modules(missing.size(), nullptr);
  std::vector<Status> statuses(missing.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < missing.size(); i = next++) statuses[i] = compile(missing[i], &modules[i]);
  };
  std::vector<std::thread> threads;
  const size_t most = std::min<size_t>({missing.size(), kMostThreads, std::max(1u, std::thread::hardware_concurrency())});
  try {
    for (size_t i = 1; i < most; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // Reached only on a system without more threads: the existing ones do the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  Status first;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (statuses[i].ok()) modules_[missing[i]] = modules[i];
    else if (first.ok()) first = statuses[i];
  }
  return first;
}

Status KernelLibrary::find(CUmodule module, const std::string& name, Kernel* out) const {
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  out->name = name;
  out->parameters = table_.find(name);
  CUresult result = driver.module_function(&out->function, module, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND || !out->parameters) {
    // Reached only with the text of another build.
    return Status::error(StatusCode::kDevice, name, "the PTX of the kernel has no such entry");
  }
  int threads = 0, shared = 0;
  if (result == CUDA_SUCCESS) {
    result = driver.function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, out->function);
  }
  if (result == CUDA_SUCCESS) {
    result = driver.function_attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, out->function);
  }
  out->max_threads = static_cast<uint32_t>(threads);
  out->static_shared_bytes = static_cast<size_t>(shared);
  return result == CUDA_SUCCESS ? Status::good() : compile_error(name, driver.describe(result));
}

Status KernelLibrary::kernel(const std::string& name, const Kernel** out) {
  if (Status status = load({name}); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Kernel>& known = kernels_[name];
  if (!known) {
    auto found = std::make_unique<Kernel>();
    if (Status status = find(modules_[name], name, found.get()); !status.ok()) return status;
    known = std::move(found);
  }
  *out = known.get();
  return Status::good();
}

Status KernelLibrary::allow_dynamic_shared(const Kernel& kernel, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Kernel& known = *kernels_[kernel.name];
  if (bytes + known.static_shared_bytes <= known.max_dynamic_bytes) return Status::good();
  const int most = context_->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (bytes + known.static_shared_bytes > static_cast<size_t>(std::max(most, 0))) {
    // Reached only on a GPU with less shared memory than it states.
    const std::string reason = "this GPU has " + std::to_string(most) + " bytes of shared memory per block, not " +
                               std::to_string(bytes + known.static_shared_bytes);
    return Status::error(StatusCode::kDevice, kernel.name, reason);
  }
  const ContextScope scope(*context_);
  const Driver& driver = context_->driver();
  const CUresult result =
      driver.function_set_attribute(known.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  if (result != CUDA_SUCCESS) return driver.error(result, kernel.name);
  known.max_dynamic_bytes = bytes + known.static_shared_bytes;
  return Status::good();
}

}  // namespace markbase::cuda
