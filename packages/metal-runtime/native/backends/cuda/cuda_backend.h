#pragma once

#include <memory>

#include "device.h"

namespace markbase::cuda {

/**
 * Opens the first GPU that can run the kernels; kDeviceUnavailable with the reason otherwise.
 *
 * @param is_interesting becomes true when there is a driver: whoever asked for any device may want to know the reason then
 */
Status open_cuda_device(bool* is_interesting, std::shared_ptr<Device>* out);

}  // namespace markbase::cuda
