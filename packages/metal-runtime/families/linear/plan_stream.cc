#include <algorithm>
#include <string>

#include "linear_stream_tiles.h"
#include "plan_cores.h"
#include "plan_prologue.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Widest row that every threadgroup packs for itself: a launch less, for work that all of them do. */
constexpr uint32_t kMaxOwnWidth = 4096;

bool packs_itself(const CommandContext& context, const LinearParams& p) { return context.rows() == 1 && p.in <= kMaxOwnWidth; }

/** Rows of the kernel for `rows` rows. */
uint32_t kernel_rows(uint32_t rows) { return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= 8 ? 8 : 16; }

/** Threadgroups: one for each multiprocessor, if the widest weight has outputs for all. */
uint32_t count_threadgroups(const CommandContext& context, const LinearParams& p) {
  uint32_t most = p.weight[0].out;
  for (uint32_t i = 1; i < p.weights; ++i) most = std::max(most, p.weight[i].out);
  return std::min(context.traits.multiprocessors, most);
}

/** Tiles of a threadgroup, at most: StreamShare. */
uint32_t count_tiles(const CommandContext& context, const LinearParams& p) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  uint32_t tiles = 0;
  for (uint32_t i = 0; i < (is_pair ? 1 : p.weights); ++i) {
    tiles += divide_up(divide_up(p.weight[i].out, count_threadgroups(context, p)), is_pair ? 8 : 16);
  }
  return tiles;
}

/** True when rows are whole stages, which then have the scales too. */
bool has_whole_stages(const LinearParams& p) { return p.in % MARKBASE_STREAM_COLUMNS == 0; }

/** Threadgroup memory beside what the kernel declares. */
size_t shared_bytes(const CommandContext& context, const LinearParams& p) {
  const size_t row_bytes = packs_itself(context, p) ? packed_bytes(2, stream_columns(p.in)) : 0;
  const size_t scalar_bytes = has_whole_stages(p) ? 0 : stream_scalar_bytes(count_tiles(context, p), p.in);
  return stream_shared_bytes(kernel_rows(context.rows())) + row_bytes + scalar_bytes;
}

/** Packs the rows by a dispatch of its own; where they lie. */
PreparedRows pack(const LinearProduct& product) {
  CommandContext& context = product.context;
  const uint32_t count = context.rows(), packed_rows = count == 1 ? 1 : std::max(kernel_rows(count), 8u);
  const std::optional<PreparedRows> source = source_rows(product);
  const size_t bytes = packed_rows * packed_bytes(count > 8 ? 1 : 2, stream_columns(product.p.in));
  const PreparedRows packed = {true, context.scratch.take(bytes), bytes, kLinearX, 0};
  DispatchBuilder dispatch(context, "linear_stream", count > 8 ? "linear_stream_pack16" : "linear_stream_pack");
  dispatch.params(product.p);
  bind_source(product, source, &dispatch);
  dispatch.scratch(kScratchArgument, packed.offset, bytes, true).step(kStepArgument, StepArray::kOutputRow);
  dispatch.grid(packed_rows, 1, 1, MARKBASE_STREAM_THREADS);
  return packed;
}

bool takes(const LinearProduct& product) {
  const CommandContext& context = product.context;
  const LinearWeightParams& weight = product.p.weight[0];
  if (!takes_cores(product) || context.rows() > 16) return false;
  if (weight.format != kWeightAffine || weight.bits != 4 || weight.group != 64) return false;
  return shared_bytes(context, product.p) + kStreamDeclaredBytes <= context.traits.shared_bytes;
}

void plan(const LinearProduct& product) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const uint32_t count = context.rows();
  const bool is_one_launch = packs_itself(context, p);
  const std::optional<PreparedRows> source = is_one_launch ? source_rows(product) : pack(product);
  const std::string kernel = is_one_launch ? "linear_stream_row" : "linear_stream" + std::to_string(kernel_rows(count));
  DispatchBuilder dispatch(context, count > 8 ? "linear_stream16" : "linear_stream", kernel + (has_whole_stages(p) ? "_q4" : "_part_q4"));
  dispatch.params(p);
  bind_source(product, source, &dispatch);
  bind_products(product, &dispatch);
  dispatch.shared_bytes(static_cast<uint32_t>(shared_bytes(context, p)));
  dispatch.grid(count_threadgroups(context, p), 1, 1, MARKBASE_STREAM_THREADS);
}

}  // namespace

const LinearStrategy kStreamLinear = {takes, plan};

}  // namespace markbase::gpu
