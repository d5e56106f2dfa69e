#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"
#include "linear_wide_tiles.h"

namespace markbase::gpu {

/**
 * Tiles of a dispatch of linear_wide_nvidia.metal or linear_warpgroup_nvidia.metal, and the number of threadgroups that divide the columns
 * of one.
 */
struct WideTiling {
  uint32_t threads = 0;  ///< MARKBASE_WIDE_THREADS or MARKBASE_WARPGROUP_THREADS
  uint32_t rows = 0;     ///< of a tile
  uint32_t outputs = 0;
  uint32_t shares = 1;
  uint32_t blocks = 0;  ///< of outputs, of all weights

  const char* source() const { return threads == MARKBASE_WIDE_THREADS ? "linear_wide" : "linear_warpgroup"; }
  /** Without the format. */
  std::string kernel() const {
    const std::string kernel = source() + std::to_string(rows);
    return threads == MARKBASE_WIDE_THREADS ? kernel + "x" + std::to_string(outputs) : kernel;
  }
};

/** The tiles with the lowest estimated time for the rows of the step. `p`: with only the weights of the dispatch. */
WideTiling wide_tiling(const CommandContext& context, const LinearParams& p);

/** The number of a tile for GpuTraits::wide_tile, by its kernel without the format, such as linear_warpgroup256; 0: no such tile. */
uint32_t wide_tile_named(const std::string& kernel);

}  // namespace markbase::gpu
