#pragma once

#include <memory>

#include "device.h"

namespace markbase::cuda {

/**
 * Opens the first GPU that can run the kernels; kDeviceUnavailable with the reason otherwise.
 *
 * @param is_interesting becomes true if a driver is installed, in which case a caller who asked for any device may want to know the reason
 */
Status open_cuda_device(bool* is_interesting, std::shared_ptr<Device>* out);

}  // namespace markbase::cuda
