#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "device.h"
#include "step_limits.h"

namespace markbase {

/**
 * A NativeStep of src/native.ts in the form that kernels take. Inputs are copied, so that the caller may change its arrays; outputs are
 * written into the arrays of the step object, which is kept alive until this is destroyed, on the JavaScript thread.
 *
 * The kinds and lengths of all arrays are checked against what the program copies, and output rows against the step. Positions, slots and
 * tokens are checked in TypeScript, which knows the caches and tables.
 */
class StepArrays {
 public:
  /** Throws kInvalidArgument for a step that the program cannot copy. */
  StepArrays(Napi::Object step, const StepLimits& limits);
  const StepCall& call() const { return call_; }
  /** Releases the step object after its environment has ended. */
  void abandon() { keep_alive_.SuppressDestruct(); }

 private:
  void check_rows(Napi::Env env, const StepLimits& limits) const;
  void check_sampling(Napi::Env env) const;
  void gather_output_rows();
  void copy_inputs(Napi::Object step, const StepLimits& limits);
  void find_outputs(Napi::Object step, const StepLimits& limits);

  Napi::ObjectReference keep_alive_;
  std::vector<int32_t> table_, token_, layer_token_, soft_index_, output_row_, history_token_, history_count_, bias_token_, allowed_word_;
  std::vector<float> bias_value_;
  std::vector<int32_t> position_[2], slot_[2], visible_end_[2];
  std::vector<SampleParams> sample_;
  std::vector<std::unique_ptr<float[]>> numbers_;
  std::vector<std::unique_ptr<uint8_t[]>> bytes_;
  StepCall call_;
};

}  // namespace markbase
