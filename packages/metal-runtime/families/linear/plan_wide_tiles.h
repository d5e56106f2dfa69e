#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"
#include "linear_wide_tiles.h"

namespace markbase::gpu {

/** A kernel for many rows, and the tile of its threadgroups. */
struct WideTileKernel {
  const char* source;
  const char* name;  ///< without the format
  uint32_t threads;
  uint32_t rows;
  uint32_t outputs;

  /** linear_batch_nvidia.metal, which takes chunks of 256 columns. */
  bool is_batch() const { return source == kBatchSource; }
  uint32_t shared_bytes(uint32_t bits) const {
    return is_batch() ? batch_shared_bytes(threads, rows, outputs) : wide_shared_bytes(threads, rows, outputs, bits);
  }
  static constexpr const char* kBatchSource = "linear_batch";
};

/** How a dispatch is cut: the number of threadgroups that divide the columns of a tile, and the blocks of outputs of all weights. */
struct WideTiling {
  const WideTileKernel* kernel = nullptr;
  uint32_t shares = 1;
  uint32_t blocks = 0;
};

/**
 * The tiles with the lowest estimated time for the rows of the step. `p`: with only the weights of the dispatch; `has_chunks`: linear_batch
 * can copy them.
 */
WideTiling wide_tiling(const CommandContext& context, const LinearParams& p, bool has_chunks);

/** The number of a tile for GpuTraits::wide_tile, by its kernel without the format, such as linear_warpgroup256; 0: no such tile. */
uint32_t wide_tile_named(const std::string& kernel);

}  // namespace markbase::gpu
