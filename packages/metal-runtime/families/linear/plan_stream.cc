#include <algorithm>
#include <string>

#include "linear_stream_tiles.h"
#include "plan_cores.h"
#include "plan_prologue.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Widest row that every threadgroup packs for itself, which saves a launch but repeats the work. */
constexpr uint32_t kMaxOwnWidth = 4096;

bool packs_itself(const CommandContext& context, const LinearParams& p) { return context.rows() == 1 && p.in <= kMaxOwnWidth; }

/** Rows of the kernels with two planes. */
constexpr uint32_t kMostTwoPlanes = 8;

/** Rows of the kernel for `rows` rows. */
uint32_t kernel_rows(uint32_t rows) { return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= kMostTwoPlanes ? kMostTwoPlanes : kMostStreamRows; }

/** Number of threadgroups: one per multiprocessor, if the widest weight has enough outputs. */
uint32_t count_threadgroups(const CommandContext& context, const LinearParams& p) {
  uint32_t most = p.weight[0].out;
  for (uint32_t i = 1; i < p.weights; ++i) most = std::max(most, p.weight[i].out);
  return std::min(context.traits.multiprocessors, most);
}

/** Threadgroup memory in addition to what the kernel declares. */
size_t shared_bytes(const CommandContext& context, const LinearParams& p) {
  return stream_shared_bytes(kernel_rows(context.rows())) + (packs_itself(context, p) ? packed_bytes(2, p.in) : 0);
}

/** Packs the rows in a separate dispatch; returns where they are. */
PreparedRows pack(const LinearProduct& product) {
  CommandContext& context = product.context;
  const uint32_t count = context.rows(), packed_rows = count == 1 ? 1 : std::max(kernel_rows(count), kMostTwoPlanes);
  const std::optional<PreparedRows> source = source_rows(product);
  const size_t bytes = packed_rows * packed_bytes(count > kMostTwoPlanes ? 1 : 2, product.p.in);
  const PreparedRows packed = {true, context.scratch.take(bytes), bytes, kLinearX, 0};
  DispatchBuilder dispatch(context, "linear_stream", count > kMostTwoPlanes ? "linear_stream_pack16" : "linear_stream_pack");
  dispatch.params(product.p);
  bind_source(product, source, &dispatch);
  dispatch.scratch(kScratchArgument, packed.offset, bytes, true).step(kStepArgument, StepArray::kOutputRow);
  dispatch.grid(packed_rows, 1, 1, MARKBASE_STREAM_THREADS);
  return packed;
}

/** Up to 16 rows that tensor cores take, and weights whose rows are whole stages. */
bool takes(const LinearProduct& product) {
  const CommandContext& context = product.context;
  if (!takes_cores(product) || context.rows() > kMostStreamRows || !is_whole(product.p)) return false;
  return shared_bytes(context, product.p) + kStreamDeclaredBytes <= context.traits.shared_bytes;
}

void plan(const LinearProduct& product) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const uint32_t count = context.rows();
  const bool is_one_launch = packs_itself(context, p);
  const std::optional<PreparedRows> source = is_one_launch ? source_rows(product) : pack(product);
  const std::string kernel = is_one_launch ? "linear_stream_row" : "linear_stream" + std::to_string(kernel_rows(count));
  DispatchBuilder dispatch(context, count > kMostTwoPlanes ? "linear_stream16" : "linear_stream", kernel + "_q4");
  dispatch.params(p);
  bind_source(product, source, &dispatch);
  bind_products(product, &dispatch);
  dispatch.shared_bytes(static_cast<uint32_t>(shared_bytes(context, p)));
  dispatch.grid(count_threadgroups(context, p), 1, 1, MARKBASE_STREAM_THREADS);
}

}  // namespace

const LinearStrategy kStreamLinear = {takes, plan};

}  // namespace markbase::gpu
