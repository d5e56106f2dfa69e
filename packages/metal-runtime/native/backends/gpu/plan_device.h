#pragma once

#include <memory>

#include "device.h"

namespace markbase::gpu {

/**
 * Opens a device that plans programs for Metal and runs none: buffers have sizes but no memory, so that what a model would
 * cost can be counted on any machine.
 */
Status open_plan_device(const DeviceOptions& options, std::shared_ptr<Device>* out);

}  // namespace markbase::gpu
