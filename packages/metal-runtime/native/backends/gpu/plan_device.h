#pragma once

#include <memory>

#include "device.h"

namespace markbase::gpu {

/**
 * A device that plans programs but does not run them: buffers have sizes but no memory, so that the cost of a model can be determined on
 * any machine.
 *
 * @param kind "metal-plan", or "cuda-plan" for an H200; null for others
 */
std::shared_ptr<Device> open_plan_device(const std::string& kind);

}  // namespace markbase::gpu
