#include "plan_wide_tiles.h"

#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kSpan = MARKBASE_WIDE_COLUMNS;

/** A kernel, and the cost of its tile in cycles: per 64 columns, and fixed. */
struct TileCost {
  WideTileKernel kernel;
  uint32_t resident;  ///< threadgroups that a multiprocessor runs concurrently; 0: warpgroup_tiles
  double busy;        ///< of the multiprocessor when it has enough threadgroups
  double alone;       ///< latency of one threadgroup
  double fixed;       ///< beginning and end of a threadgroup
};
constexpr uint32_t kWide = MARKBASE_WIDE_THREADS, kWarpgroups = MARKBASE_WARPGROUP_THREADS;
constexpr const char* kBatch = WideTileKernel::kBatchSource;
constexpr TileCost kTiles[] = {{{"linear_warpgroup", "linear_warpgroup256", kWarpgroups, 256, 128}, 0, 1300, 1300, 10000},
                               {{"linear_warpgroup", "linear_warpgroup128", kWarpgroups, 128, 128}, 0, 850, 1000, 7000},
                               {{"linear_warpgroup", "linear_warpgroup64", kWarpgroups, 64, 128}, 0, 460, 750, 5000},
                               {{kBatch, "linear_batch32x128", 256, 32, 128}, 2, 310, 550, 4500},
                               {{kBatch, "linear_batch32x192", 384, 32, 192}, 1, 480, 480, 5000},
                               {{kBatch, "linear_batch64x128", 256, 64, 128}, 2, 430, 670, 4500},
                               {{kBatch, "linear_batch64x192", 384, 64, 192}, 1, 560, 560, 5500},
                               {{kBatch, "linear_batch64x256", 512, 64, 256}, 1, 690, 690, 6000},
                               {{kBatch, "linear_batch128x192", 384, 128, 192}, 1, 850, 850, 7500},
                               {{"linear_wide", "linear_wide128x128", kWide, 128, 128}, 2, 950, 1400, 6000},
                               {{"linear_wide", "linear_wide64x128", kWide, 64, 128}, 3, 540, 850, 4500},
                               {{"linear_wide", "linear_wide64x64", kWide, 64, 64}, 4, 290, 500, 3000}};

/** Several tiles of rows compete for the copies of linear_batch: its cost is higher by this factor. */
constexpr double kCrowded = 1.33;

/** Cost of the second dispatch that adds shares, and bytes that a multiprocessor moves for it per cycle. */
constexpr double kAddCycles = 4000, kBytesOfCycle = 12;

constexpr uint32_t kShares[] = {1, 2, 3, 4, 6, 8};
/** Minimum number of spans of 64 columns in a share. */
constexpr uint32_t kLeastSpans = 6, kLeastBatchSpans = 4;

uint32_t blocks_of(const LinearParams& p, uint32_t outputs) {
  if (p.epilogue == kLinearGeglu) return divide_up(p.weight[0].out, outputs / 2);
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < p.weights; ++i) blocks += divide_up(p.weight[i].out, outputs);
  return blocks;
}

/** True if the kernel exists for the GPU and the weights, and GpuTraits::wide_tile does not exclude it. */
bool exists(const CommandContext& context, const LinearParams& p, bool has_chunks, const TileCost& tile) {
  const auto has_kernel = [&](const TileCost& each) {
    if (each.kernel.is_batch()) return context.traits.has_warpgroups && has_chunks;
    if (each.kernel.threads == kWarpgroups) return context.traits.has_warpgroups;
    return each.kernel.rows < 128 || p.weight[0].format != kWeightBf16;
  };
  const uint32_t only = context.traits.wide_tile;
  return has_kernel(tile) && (only == 0 || !has_kernel(kTiles[only - 1]) || &tile == &kTiles[only - 1]);
}

double estimate(
    const CommandContext& context, const LinearParams& p, const TileCost& tile, uint32_t spans, uint32_t blocks, uint32_t shares) {
  const WideTileKernel& kernel = tile.kernel;
  const double multiprocessors = context.traits.multiprocessors;
  const uint32_t groups = divide_up(context.rows(), kernel.rows) * blocks * shares;
  const uint32_t most = divide_up(groups, context.traits.multiprocessors);
  const uint32_t bits = p.weight[0].format == kWeightAffine ? p.weight[0].bits : 16;
  const uint32_t resident = tile.resident == 0 ? warpgroup_tiles(kernel.rows, bits) : tile.resident;
  const uint32_t waves = divide_up(most, resident);
  const bool is_crowded = kernel.is_batch() && context.rows() > kernel.rows;
  const double span = (is_crowded ? kCrowded : 1.0) * std::max(most * tile.busy, waves * tile.alone);
  const double cycles = divide_up(spans, shares) * span + waves * tile.fixed;
  if (shares == 1) return cycles;
  const double bytes = 2.0 * sizeof(float) * shares * blocks * kernel.outputs * context.rows();
  return cycles + kAddCycles + bytes / (kBytesOfCycle * multiprocessors);
}

}  // namespace

uint32_t wide_tile_named(const std::string& name) {
  uint32_t number = 0;
  for (const TileCost& tile : kTiles) {
    ++number;
    if (tile.kernel.name == name) return number;
  }
  // Reached only with a name in MARKBASE_WIDE_TILE that no tile has.
  return 0;
}

WideTiling wide_tiling(const CommandContext& context, const LinearParams& p, bool has_chunks) {
  WideTiling best;
  double least = 0;
  for (const TileCost& tile : kTiles) {
    if (!exists(context, p, has_chunks, tile)) continue;
    const uint32_t spans = wide_columns(p.in) / kSpan, blocks = blocks_of(p, tile.kernel.outputs);
    for (const uint32_t shares : kShares) {
      if (shares > 1 && spans / shares < (tile.kernel.is_batch() ? kLeastBatchSpans : kLeastSpans)) break;
      const double cycles = estimate(context, p, tile, spans, blocks, shares);
      if (best.kernel != nullptr && cycles >= least) continue;
      least = cycles;
      best = {&tile.kernel, shares, blocks};
    }
  }
  return best;
}

}  // namespace markbase::gpu
