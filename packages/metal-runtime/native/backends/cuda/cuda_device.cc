#include "cuda_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cuda_backend.h"
#include "cuda_program.h"
#include "linear/plan_wide_tiles.h"

namespace markbase::cuda {

namespace {

/** The oldest GPU that the kernels are compiled for. */
constexpr int kOldestCapability = 80;

int capability_of(const Driver& driver, CUdevice device) {
  int major = 0, minor = 0;
  driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
}

std::string name_of(const Driver& driver, CUdevice device) {
  char name[256] = {};
  driver.device_name(name, sizeof name - 1, device);
  return name;
}

int64_t modified_ns(const struct stat& info) {
#if defined(__APPLE__)
  return info.st_mtimespec.tv_sec * int64_t{1000000000} + info.st_mtimespec.tv_nsec;
#else
  return info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
#endif
}

/** The first version of CUDA whose drivers know PTX 8.0. */
constexpr int kWarpgroupVersion = 12000;

/**
 * Traits of the GPU for plans. For tests, MARKBASE_MULTIPROCESSORS plans for fewer multiprocessors than the GPU has, so that small grids
 * fill them, and MARKBASE_WIDE_TILE names the kernel that multiplies many rows where possible.
 */
gpu::GpuTraits traits_of(const Context& context) {
  const auto attribute = [&](CUdevice_attribute name, int least) {
    return static_cast<uint32_t>(std::max(context.attribute(name), least));
  };
  gpu::GpuTraits traits;
  traits.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
  traits.shared_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
  traits.has_warpgroups = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9 &&
                          context.driver().version >= kWarpgroupVersion;
  if (const char* count = std::getenv("MARKBASE_MULTIPROCESSORS"); count && std::atoi(count) > 0) {
    // Reached only on a GPU, where bench/h200.sh asks for plans of a smaller one.
    traits.multiprocessors = std::min(traits.multiprocessors, static_cast<uint32_t>(std::atoi(count)));
  }
  if (const char* kernel = std::getenv("MARKBASE_WIDE_TILE")) traits.wide_tile = gpu::wide_tile_named(kernel);
  return traits;
}

}  // namespace

Status open_cuda_device(bool* is_interesting, std::shared_ptr<Device>* out) {
  const std::string kind = "cuda";
  const Driver* driver = nullptr;
  if (Status status = Driver::load(kind, &driver, is_interesting); !status.ok()) return status;
  return CudaDevice::open(kind, *driver, out);
}

Status CudaDevice::open(const std::string& kind, const Driver& driver, std::shared_ptr<Device>* out) {
  const auto unavailable = [&](const std::string& reason) { return Status::error(StatusCode::kDeviceUnavailable, kind, reason); };
  int count = 0;
  if (driver.device_count(&count) != CUDA_SUCCESS || count == 0) {
    // Reached only with a driver that starts without a GPU.
    return unavailable("the NVIDIA driver finds no GPU on this machine");
  }
  std::string refused;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    if (driver.device_get(&device, ordinal) != CUDA_SUCCESS) continue;
    const int capability = capability_of(driver, device);
    if (capability < kOldestCapability) {
      refused += (refused.empty() ? "" : ", ") + name_of(driver, device) + " has compute capability " + std::to_string(capability / 10) +
                 "." + std::to_string(capability % 10);
      continue;
    }
    std::shared_ptr<Context> context;
    Status status = Context::create(driver, device, &context);
    // Other processes may leave no memory for a context, and a broken GPU cannot create one: in both cases the device cannot be used.
    if (!status.ok()) {
      const bool is_full = status.code == StatusCode::kOutOfMemory;
      return unavailable(status.where + " cannot be created: " + (is_full ? "its memory is full" : status.message));
    }
    std::unique_ptr<KernelLibrary> kernels;
    if (status = KernelLibrary::open(kind, context, &kernels); !status.ok()) return status;
    auto opened = std::make_shared<CudaDevice>(kind, std::move(context), std::move(kernels));
    if (status = opened->prepare(); !status.ok()) return status;
    *out = std::move(opened);
    return Status::good();
  }
  return unavailable(refused + ", expected 8.0 or newer");
}

CudaDevice::CudaDevice(std::string kind, std::shared_ptr<Context> context, std::unique_ptr<KernelLibrary> kernels)
    : kind_(kind),
      context_(std::move(context)),
      memory_(std::make_shared<MemoryPool>(context_)),
      kernels_(std::move(kernels)),
      traits_(traits_of(*context_)),
      stream_(context_),
      setup_stream_(context_),
      pieces_memory_(context_),
      gate_(std::move(kind)),
      uploader_(context_) {}

Status CudaDevice::prepare() {
  if (Status status = stream_.create(); !status.ok()) return status;
  return setup_stream_.create();
}

DeviceInfo CudaDevice::info() const {
  const CUdevice device = context_->device();
  size_t total_bytes = 0;
  driver().device_total_memory(&total_bytes, device);
  DeviceInfo info{kind_, name_of(driver(), device), "sm_" + std::to_string(capability_of(driver(), device)), 1, total_bytes};
  info.driver = "CUDA " + version_text(driver().version);
  return info;
}

Status CudaDevice::map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) {
  auto file = std::make_shared<SourceFile>(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (file->descriptor() < 0 || fstat(file->descriptor(), &info) != 0) return file_error(path);
  FileIdentity identity;
  if (Status status = identify_file(path, info, &identity); !status.ok()) return status;
  if (Status status = check_file_range(path, identity.size, offset, size); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(ranges_mutex_);
  std::erase_if(ranges_, [](const LoadedRange& range) { return range.upload.expired(); });
  for (const LoadedRange& range : ranges_) {
    if (!(range.file == identity) || range.modified_ns != modified_ns(info)) continue;
    if (range.offset != offset || range.size != size) continue;
    if (auto upload = range.upload.lock()) {
      *out = std::make_shared<CudaBuffer>(std::move(upload), size);
      return Status::good();
    }
  }
  std::shared_ptr<Region> region;
  if (Status status = memory_->allocate(size, path, &region); !status.ok()) return status;
  auto upload = uploader_.start(std::move(file), offset, size, std::move(region));
  ranges_.push_back({identity, modified_ns(info), offset, size, upload});
  *out = std::make_shared<CudaBuffer>(std::move(upload), size);
  return Status::good();
}

Status CudaDevice::upload(const void* data, size_t size, const std::string& label, BufferPtr* out) {
  std::shared_ptr<Region> region;
  if (Status status = memory_->allocate(size, label, &region); !status.ok()) return status;
  if (size > 0) {
    const ContextScope scope(*context_);
    CUresult result = driver().copy_to_device(region->address(), data, size, setup_stream_.handle());
    if (result == CUDA_SUCCESS) result = driver().stream_synchronize(setup_stream_.handle());
    if (result != CUDA_SUCCESS) return driver().error(result, label);
  }
  *out = std::make_shared<CudaBuffer>(std::move(region), size);
  return Status::good();
}

Status CudaDevice::allocate(size_t size, const std::string& label, BufferPtr* out) {
  std::shared_ptr<Region> region;
  if (Status status = memory_->allocate(size, label, &region); !status.ok()) return status;
  if (Status status = clear(region->address(), region->size_bytes(), label); !status.ok()) return status;
  *out = std::make_shared<CudaBuffer>(std::move(region), size);
  return Status::good();
}

template <typename Copy>
Status CudaDevice::copy_pieces(const BufferPieces& pieces, const std::string& label, const Copy& copy) {
  const ContextScope scope(*context_);
  CUresult result = CUDA_SUCCESS;
  pieces.for_each_run([&](size_t at, size_t host, size_t bytes) {
    if (result == CUDA_SUCCESS) result = copy(at, pieces_memory_.data() + host, bytes);
  });
  if (result == CUDA_SUCCESS) result = driver().stream_synchronize(setup_stream_.handle());
  return result == CUDA_SUCCESS ? Status::good() : driver().error(result, label);
}

Status CudaDevice::read(const Buffer& from, const BufferPieces& pieces, std::byte* to) {
  const std::string label = "read of a buffer";
  const CUdeviceptr address = static_cast<const CudaBuffer&>(from).address();
  if (Status status = pieces_memory_.reserve(pieces.size_bytes(), label); !status.ok()) return status;
  Status status = copy_pieces(pieces, label, [&](size_t at, std::byte* host, size_t bytes) {
    return driver().copy_to_host(host, address + at, bytes, setup_stream_.handle());
  });
  if (status.ok()) std::memcpy(to, pieces_memory_.data(), pieces.size_bytes());
  return status;
}

Status CudaDevice::write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) {
  const std::string label = "write to a buffer";
  const CUdeviceptr address = static_cast<const CudaBuffer&>(to).address();
  if (Status status = pieces_memory_.reserve(pieces.size_bytes(), label); !status.ok()) return status;
  std::memcpy(pieces_memory_.data(), from, pieces.size_bytes());
  return copy_pieces(pieces, label, [&](size_t at, std::byte* host, size_t bytes) {
    return driver().copy_to_device(address + at, host, bytes, setup_stream_.handle());
  });
}

Status CudaDevice::clear(CUdeviceptr address, size_t size, const std::string& label) {
  const ContextScope scope(*context_);
  CUresult result = driver().fill_bytes(address, 0, size, setup_stream_.handle());
  // The memory may be freed and reused for an upload right after this.
  if (result == CUDA_SUCCESS) result = driver().stream_synchronize(setup_stream_.handle());
  return result == CUDA_SUCCESS ? Status::good() : driver().error(result, label);
}

Status CudaDevice::require_memory(uint64_t size, const std::string& label) const { return memory_->require(size, label); }

Status CudaDevice::create_program(ProgramDescription description, std::shared_ptr<Program>* out) {
  return CudaProgram::create(shared_from_this(), std::move(description), out);
}

void CudaDevice::shut_down() {
  // Steps may wait for weights.
  uploader_.stop();
  gate_.shut_down();
}

}  // namespace markbase::cuda
