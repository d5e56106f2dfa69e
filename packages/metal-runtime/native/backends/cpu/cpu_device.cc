#include "cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "processor.h"
#include "cpu_buffer.h"
#include "cpu_program.h"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace markbase::cpu {

namespace {

constexpr Isa kIsas[] = {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kNeonDotprod, Isa::kNeonI8mm};

Status find_isa(const std::string& name, Isa* out) {
  if (name.empty()) {
    *out = detect_isa();
    return Status::good();
  }
  for (const Isa isa : kIsas) {
    if (name != isa_name(isa) || !isa_supported(isa)) continue;
    *out = isa;
    return Status::good();
  }
  std::string known;
  for (const std::string& supported : supported_isas()) known += (known.empty() ? "" : ", ") + supported;
  return Status::error(StatusCode::kDeviceUnavailable, "cpu with " + name, "this processor and build support " + known);
}

std::string processor_name() {
#if defined(__APPLE__)
  char name[256] = {};
  size_t size = sizeof(name) - 1;
  if (sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0) return name;
#else
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
#endif
  return "unknown processor";
}

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Isa isa : kIsas) {
    if (isa_supported(isa)) names.emplace_back(isa_name(isa));
  }
  return names;
}

Status CpuDevice::open(const DeviceOptions& options, std::shared_ptr<Device>* out) {
  Isa isa = Isa::kGeneric;
  if (Status status = find_isa(options.isa, &isa); !status.ok()) return status;
  const uint32_t threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  *out = std::make_shared<CpuDevice>(isa, threads);
  return Status::good();
}

DeviceInfo CpuDevice::info() const {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return {"cpu", processor_name(), isa_name(isa_), threads(), pages * page_bytes};
}

Status CpuDevice::map(const std::string& path, uint64_t offset, uint64_t size, BufferPtr* out) {
  FileIdentity identity;
  if (Status status = identify_file(path, &identity); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(files_mutex_);
  std::shared_ptr<MappedFile> file;
  std::erase_if(files_, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : files_) {
    if (auto known = weak.lock(); known && known->is_same_as(identity)) file = known;
  }
  if (!file) {
    if (Status status = MappedFile::open(path, &file); !status.ok()) return status;
    files_.push_back(file);
  }
  if (Status status = check_file_range(path, file->size(), offset, size); !status.ok()) return status;
  *out = std::make_shared<MappedBuffer>(std::move(file), offset, size);
  return Status::good();
}

Status CpuDevice::upload(const void* data, size_t size, const std::string& label, BufferPtr* out) {
  std::shared_ptr<AnonymousBuffer> buffer;
  if (Status status = AnonymousBuffer::create(size, label, &buffer); !status.ok()) return status;
  if (size > 0) std::memcpy(buffer->data(), data, size);
  *out = std::move(buffer);
  return Status::good();
}

Status CpuDevice::allocate(size_t size, const std::string& label, BufferPtr* out) {
  std::shared_ptr<AnonymousBuffer> buffer;
  if (Status status = AnonymousBuffer::create(size, label, &buffer); !status.ok()) return status;
  *out = std::move(buffer);
  return Status::good();
}

Status CpuDevice::read(const Buffer& from, const BufferPieces& pieces, std::byte* to) {
  const std::byte* data = static_cast<const CpuBuffer&>(from).data();
  pieces.for_each_run([&](size_t at, size_t host, size_t bytes) { std::memcpy(to + host, data + at, bytes); });
  return Status::good();
}

Status CpuDevice::write(const Buffer& to, const BufferPieces& pieces, const std::byte* from) {
  std::byte* data = static_cast<const CpuBuffer&>(to).data();
  pieces.for_each_run([&](size_t at, size_t host, size_t bytes) { std::memcpy(data + at, from + host, bytes); });
  return Status::good();
}

Status CpuDevice::create_program(ProgramDescription description, std::shared_ptr<Program>* out) {
  return CpuProgram::create(shared_from_this(), std::move(description), out);
}

void CpuDevice::shut_down() {
  is_shut_down_.store(true);
  queue_.wait_until_idle();
}

}  // namespace markbase::cpu
