#include "linear_wide.h"

#include "linear_wide_tiles.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kSpan = MARKBASE_WIDE_COLUMNS;

/** Columns that a thread of linear_rows takes. */
constexpr uint32_t kPiece = 16;

/** What a tile costs for 64 columns, in cycles. */
struct TileCost {
  uint32_t rows;
  uint32_t outputs;
  uint32_t resident;  ///< threadgroups of a multiprocessor at once
  double busy;        ///< of the multiprocessor, while it has enough threadgroups
  double alone;       ///< until a threadgroup has done it
};
constexpr TileCost kTiles[] = {{128, 128, 2, 950, 1400}, {64, 128, 3, 540, 850}, {64, 64, 4, 290, 500}};

/** Beginning and end of a threadgroup, the second dispatch of shares, and what a multiprocessor moves for it in a cycle. */
constexpr double kFixedCycles = 2500, kAddCycles = 4000, kBytesOfCycle = 12;

constexpr uint32_t kShares[] = {1, 2, 3, 4, 6, 8};
/** Spans of 64 columns that a share has at least. */
constexpr uint32_t kLeastSpans = 6;

uint32_t blocks_of(const LinearParams& p, uint32_t outputs) {
  if (p.epilogue == kLinearGeglu) return divide_up(p.weight[0].out, outputs / 2);
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < p.weights; ++i) blocks += divide_up(p.weight[i].out, outputs);
  return blocks;
}

double estimate(const CommandContext& context, const TileCost& tile, uint32_t spans, uint32_t blocks, uint32_t shares) {
  const double multiprocessors = context.traits.multiprocessors;
  const uint32_t groups = divide_up(context.rows(), tile.rows) * blocks * shares;
  const uint32_t most = divide_up(groups, context.traits.multiprocessors);
  const double span = std::max(most * tile.busy, divide_up(most, tile.resident) * tile.alone);
  const double cycles = divide_up(spans, shares) * span + kFixedCycles;
  if (shares == 1) return cycles;
  const double bytes = 2.0 * sizeof(float) * shares * blocks * tile.outputs * context.rows();
  return cycles + kAddCycles + bytes / (kBytesOfCycle * multiprocessors);
}

}  // namespace

bool is_wide(const CommandContext& context, const LinearWeightParams& weight, uint32_t operand) {
  const auto& p = context.params<LinearParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0 || p.has_few_rows != 0) return false;
  // The last stage of a row of bf16 may be a part of one.
  if (p.in < kSpan || p.in % (weight.format == kWeightBf16 ? kPiece : kSpan) != 0) return false;
  if (row_alignment(context.command, operand, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
  if (weight.format != kWeightAffine) return weight.format == kWeightBf16;
  if (weight.bits % 2 != 0 || weight.scale_type != kScalarBf16 || (weight.group != kSpan && weight.group != 2 * kSpan)) return false;
  // Scalars are copied by the word in which they are.
  const bool has_words = uint64_t{weight.out} * (p.in / weight.group) % 2 == 0;
  return has_words && operand_offset(context.command, operand + 1) % 4 == 0 && operand_offset(context.command, operand + 2) % 4 == 0;
}

WideTiling wide_tiling(const CommandContext& context, const LinearParams& p) {
  WideTiling best;
  double least = 0;
  for (const TileCost& tile : kTiles) {
    if (tile.rows == 128 && p.weight[0].format == kWeightBf16) continue;
    const uint32_t spans = wide_columns(p.in) / kSpan, blocks = blocks_of(p, tile.outputs);
    for (const uint32_t shares : kShares) {
      if (shares > 1 && spans / shares < kLeastSpans) break;
      const double cycles = estimate(context, tile, spans, blocks, shares);
      if (best && cycles >= least) continue;
      least = cycles;
      best = {tile.rows, tile.outputs, shares, blocks};
    }
  }
  return best;
}

}  // namespace markbase::gpu
