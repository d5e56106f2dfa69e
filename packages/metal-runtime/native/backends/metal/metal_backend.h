#pragma once

#include <memory>

#include "device.h"

namespace markbase::metal {

/** Opens the default GPU; kDeviceUnavailable if the machine has none. `kind`: "metal", or "metal-sim" over a stand-in. */
Status open_metal_device(const DeviceOptions& options, std::shared_ptr<Device>* out);

}  // namespace markbase::metal
