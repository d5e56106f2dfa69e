#pragma once

#include "call.h"

namespace markbase::cpu::MARKBASE_ISA_NAMESPACE {

/** Number of rows of the same slot directly before `row` in the step: as many as its position, and at most those that exist. */
inline uint32_t rows_before(const StepView& step, uint32_t row) {
  return smaller(static_cast<uint32_t>(step.position[kAllRows][row]), row);
}

}  // namespace markbase::cpu::MARKBASE_ISA_NAMESPACE
