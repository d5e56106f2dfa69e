#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** Tiles of a dispatch of kernels/nvidia/linear_wide.metal, and how many threadgroups share the columns of one. */
struct WideTiling {
  uint32_t rows = 0;  ///< of a tile; 0: the kernel does not take the weights
  uint32_t outputs = 0;
  uint32_t shares = 1;
  uint32_t blocks = 0;  ///< of outputs, of all weights

  explicit operator bool() const { return rows > 0; }
  std::string name() const { return std::to_string(rows) + "x" + std::to_string(outputs) + "_"; }
};

/** True when the kernel takes a weight of the command, whose operands begin at `operand`; for programs of many rows in `fast`. */
bool is_wide(const CommandContext& context, const LinearWeightParams& weight, uint32_t operand);

/** The quickest tiles for the rows of the step, by estimate. `p`: with the weights of the dispatch alone. */
WideTiling wide_tiling(const CommandContext& context, const LinearParams& p);

/** Rows for which memory is taken, so that no tile reads beyond it. */
inline uint32_t padded_wide_rows(uint32_t rows) { return divide_up(rows, 128) * 128; }

}  // namespace markbase::gpu
