#include "device.h"
#include "cpu_device.h"

namespace markbase {

Status open_device(const DeviceOptions& options, std::shared_ptr<Device>* out) {
  if (options.kind == "auto" || options.kind == "cpu") return cpu::CpuDevice::open(options, out);
  const std::string reason = "this build has the backends: cpu";
  return Status::error(StatusCode::kDeviceUnavailable, options.kind, reason);
}

}  // namespace markbase
