#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "device.h"
#include "step_ends.h"

namespace markbase {

/** State of one JavaScript environment; worker threads have their own. */
struct AddonData {
  explicit AddonData(Napi::Env env) : step_ends(env) {}

  Napi::FunctionReference device_class;
  Napi::FunctionReference buffer_class;
  Napi::FunctionReference program_class;
  std::vector<std::weak_ptr<Device>> devices;
  StepEnds step_ends;

  static AddonData& of(Napi::Env env) { return *env.GetInstanceData<AddonData>(); }

  /** Stops running steps, so that the environment can end with steps in flight. */
  void shut_down() {
    for (const auto& weak : devices) {
      if (auto device = weak.lock()) device->shut_down();
    }
  }
};

}  // namespace markbase
