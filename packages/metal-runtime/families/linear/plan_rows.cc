#include "plan_rows.h"

#include "plan_prologue.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Weight rows that a simdgroup multiplies at a time: with eight rows, registers suffice for the sums of two. */
constexpr uint32_t kStreams = 4, kStreamsOfEight = 2;

constexpr LinearTiling kOneWithPrologue = {"linear", "linear_row_", 1, kRowSimdgroups* kStreams, kRowThreads};
constexpr LinearTiling kOne = {"linear", "linear_rows1_", 1, kRowSimdgroups* kStreams, kRowThreads};
constexpr LinearTiling kFour = {"linear", "linear_rows4_", 4, kRowSimdgroups* kStreams, kRowThreads};
constexpr LinearTiling kEight = {"linear", "linear_rows8_", 8, kRowSimdgroups* kStreamsOfEight, kRowThreads};

/** Every threadgroup of every dispatch would store h: a single dispatch may include the prologue; for several, it must run before. */
bool takes_row(const LinearProduct& product) {
  return product.rows == nullptr && has_prologue(product.p) && product.context.rows() == 1 && !is_tiled(product.context, product.p);
}

void plan_row(const LinearProduct& product) { plan_tiling(product, kOneWithPrologue); }

bool takes_rows(const LinearProduct& product) { return product.rows != nullptr; }

void plan_rows(const LinearProduct& product) {
  const uint32_t rows = product.context.rows();
  plan_tiling(product, rows == 1 ? kOne : rows <= 4 ? kFour : kEight);
}

}  // namespace

void plan_tiling(const LinearProduct& product, const LinearTiling& tiling) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const bool does_prologue = product.rows == nullptr, is_pair = p.epilogue == kLinearGeglu;
  const std::optional<PreparedRows> rows = source_rows(product);
  const uint32_t block = is_pair ? tiling.outputs / 2 : tiling.outputs;
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < (is_pair ? 1 : p.weights); ++i) blocks += divide_up(p.weight[i].out, block);

  const LinearWeightParams& first = p.weight[0];
  DispatchBuilder dispatch(context, tiling.source, tiling.kernel + kernel_format(first.format, first.bits));
  dispatch.params(p);
  bind_source(product, rows, &dispatch);
  bind_products(product, &dispatch);
  dispatch.launch().x_alignment = row_alignment_of(context, rows.value_or(PreparedRows{false, 0, 0, kLinearX, p.x_stride}));
  if (does_prologue) dispatch.shared_row(p.in, chunk_columns(first.format));
  dispatch.grid(blocks, divide_up(context.rows(), tiling.rows), 1, tiling.threads);
}

const LinearStrategy kRowLinear = {takes_row, plan_row};
const LinearStrategy kRowsLinear = {takes_rows, plan_rows};

}  // namespace markbase::gpu
