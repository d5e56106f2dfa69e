#include "device.h"

#include "processor.h"

#include "plan_device.h"

#if !defined(MARKBASE_NO_CPU)
#include "cpu_device.h"
#endif
#if defined(MARKBASE_METAL_KIND)
#include "metal_backend.h"
#endif
#if defined(MARKBASE_CUDA)
#include "cuda_backend.h"
#endif

/**
 * The backends of a build: MARKBASE_METAL_KIND names the Metal backend ("metal", or "metal-sim" over a stand-in for Metal),
 * MARKBASE_CUDA adds the CUDA backend, MARKBASE_NO_CPU leaves the CPU backend out.
 */
namespace markbase {

namespace {

void add_backend(const char* name, std::string* backends) { *backends += (backends->empty() ? "" : ", ") + std::string(name); }

}  // namespace

Status open_device(const DeviceOptions& options, std::shared_ptr<Device>* out, [[maybe_unused]] std::string* note) {
  const bool is_auto = options.kind == "auto";
  if (std::shared_ptr<Device> plans = gpu::open_plan_device(options.kind)) {
    *out = std::move(plans);
    return Status::good();
  }
  std::string backends;
#if defined(MARKBASE_METAL_KIND)
  if (is_auto || options.kind == MARKBASE_METAL_KIND) {
    Status status = metal::open_metal_device(options, out);
    if (status.ok() || !is_auto || status.code != StatusCode::kDeviceUnavailable) return status;
  }
  add_backend(MARKBASE_METAL_KIND, &backends);
#endif
#if defined(MARKBASE_CUDA)
  if (is_auto || options.kind == "cuda") {
    bool is_interesting = false;
    Status status = cuda::open_cuda_device(&is_interesting, out);
    if (status.ok() || !is_auto) return status;
    if (is_interesting) *note = status.where + ": " + status.message;
  }
  add_backend("cuda", &backends);
#endif
#if !defined(MARKBASE_NO_CPU)
  if (is_auto || options.kind == "cpu") return cpu::CpuDevice::open(options, out);
  add_backend("cpu", &backends);
#endif
  return Status::error(StatusCode::kDeviceUnavailable, options.kind, "this build has the backends: " + backends);
}

}  // namespace markbase

#if defined(MARKBASE_NO_CPU)
namespace markbase::cpu {

namespace {

Status without_cpu() { return Status::error(StatusCode::kDeviceUnavailable, "cpu", "this build is without the CPU backend"); }

}  // namespace

std::vector<std::string> supported_isas() { return {}; }

Status measure_read_bandwidth(uint32_t, double*) { return without_cpu(); }

Status measure_matmul_peak(uint32_t, MatmulPeak*) { return without_cpu(); }

}  // namespace markbase::cpu
#endif
