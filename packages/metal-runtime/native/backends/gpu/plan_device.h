#pragma once

#include <memory>

#include "device.h"

namespace markbase::gpu {

/**
 * A device that plans programs and runs none: buffers have sizes but no memory, so that what a model would cost can be
 * counted on any machine.
 *
 * @param kind "metal-plan", or "cuda-plan" for an H200; null for others
 */
std::shared_ptr<Device> open_plan_device(const std::string& kind);

}  // namespace markbase::gpu
