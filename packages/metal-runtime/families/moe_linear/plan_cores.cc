#include "plan_cores.h"

#include "linear/linear_wide_tiles.h"
#include "moe_linear_params.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kFirstWeight = 6;  ///< operand index of the first weight
constexpr uint32_t kOutputArgument = 14;
constexpr uint32_t kExperts = 4;  ///< operand
constexpr uint32_t kShares = 5;
constexpr uint32_t kGroupColumns = 64;  ///< see metal_experts.h
constexpr uint32_t kUnitColumns = 128;
constexpr uint32_t kMaxColumns = 3072;  ///< three units for each simdgroup
constexpr uint32_t kMaxExperts = 256;
constexpr uint32_t kMaxChosen = 32;
constexpr uint32_t kMostFewRows = 8;  ///< for which an expert is read once for every row that chose it
constexpr uint32_t kTileRows = 16;    ///< weight rows of a threadgroup of moe_cores
constexpr uint32_t kWideRows = 128;   ///< ... of moe_wide and moe_warpgroup
/** Average number of choices per expert up to which moe_wide uses tiles of 8 choices, instead of 32. */
constexpr uint32_t kSmallShare = 8;
/** Average number of choices per expert from which moe_warpgroup is used, and from which it uses its larger tiles. */
constexpr uint32_t kLeastShare = 16, kLargeShare = 72;
constexpr uint32_t kWideThreads = 128;
constexpr uint32_t kSortThreads = 512;

bool is_stored_for_cores(const Command& command, const MoeLinearParams& p, uint32_t index) {
  const MoeLinearWeightParams& weight = p.weight[index];
  return weight.format == kWeightAffine && weight.bits == 4 && weight.group == kGroupColumns && weight.scale_type == kScalarBf16 &&
         row_alignment(command, kFirstWeight + 3 * index, weight_row_bytes(weight.format, weight.bits, p.in)) == 16;
}

/** Bytes of a prepared row: words and totals. */
uint32_t prepared_bytes(const MoeLinearParams& p) {
  const uint32_t units = divide_up(p.in, kUnitColumns);
  return units * (kUnitColumns * 2 + kUnitColumns / kGroupColumns * 4);
}

ScratchRegion take(CommandContext& context, size_t bytes) { return {context.scratch.take(bytes), bytes}; }

/** Binds what all kernels of moe_cores_nvidia.metal share, except scratch memory; `is_choosing`: the dispatch stores the choice. */
void bind_operands(const CommandContext& context, const ExpertProducts& job, bool is_choosing, DispatchBuilder* dispatch) {
  dispatch->params(job.p).operands(0, kExperts);
  for (uint32_t operand = kExperts; operand <= kShares; ++operand) {
    const bool is_arena = context.command.bindings[operand].kind == Binding::Kind::kArena;
    if (is_choosing || !is_arena) dispatch->operand(operand);
    else dispatch->read(operand, operand + kFirstOperand);
  }
}

void bind_weights(const ExpertProducts& job, DispatchBuilder* dispatch) {
  for (uint32_t i = 0; i < 6; ++i) {
    const uint32_t slot = kFirstWeight + i;
    if (i < 3 * job.p.weights) dispatch->operand(slot + 3 * job.first_weight, slot + kFirstOperand, slot);
    else dispatch->nothing(slot + kFirstOperand);
  }
}

void bind_output(const CommandContext& context, const ExpertProducts& job, DispatchBuilder* dispatch) {
  const uint32_t output = kFirstWeight + 3 * context.params<MoeLinearParams>().weights;
  if (job.products.bytes != 0) dispatch->scratch(kOutputArgument, job.products.offset, job.products.bytes, true);
  else dispatch->operand(output, kOutputArgument, 18);
}

/** Prepares rows for the tensor cores, and chooses their experts. */
ScratchRegion prepare(CommandContext& context, const ExpertProducts& job) {
  const uint32_t slices = job.p.has_slices != 0 ? job.p.top_k : 1;
  const ScratchRegion prepared = take(context, size_t{context.rows()} * slices * prepared_bytes(job.p));
  DispatchBuilder dispatch(context, "moe_cores", "moe_cores_prepare");
  bind_operands(context, job, job.p.has_routing != 0, &dispatch);
  for (uint32_t argument = kFirstWeight + kFirstOperand; argument <= kOutputArgument; ++argument) dispatch.nothing(argument);
  dispatch.scratch(kScratchArgument, prepared.offset, prepared.bytes, true);
  dispatch.grid(slices, context.rows(), 1, kRowThreads);
  return prepared;
}

/** Threadgroups per choice: as many as run concurrently, with the same number of blocks each. */
uint32_t groups_of_choice(const CommandContext& context, const MoeLinearParams& p) {
  const uint32_t blocks = divide_up(p.out, kTileRows / p.weights);
  const uint32_t most = std::max(1u, 2 * context.traits.multiprocessors / (context.rows() * p.top_k));
  return divide_up(blocks, divide_up(blocks, most));
}

/** One row, without a preparing dispatch. */
void multiply_row(CommandContext& context, const ExpertProducts& job) {
  const MoeLinearParams& p = job.p;
  DispatchBuilder dispatch(context, "moe_cores", "moe_cores_row");
  bind_operands(context, job, p.has_routing != 0, &dispatch);
  bind_weights(job, &dispatch);
  bind_output(context, job, &dispatch);
  dispatch.nothing(kScratchArgument).shared_row(prepared_bytes(p) / sizeof(float), 1);
  dispatch.grid(p.top_k, groups_of_choice(context, p), 1, kRowThreads);
}

void multiply_rows(CommandContext& context, const ExpertProducts& job) {
  const MoeLinearParams& p = job.p;
  const ScratchRegion prepared = prepare(context, job);
  DispatchBuilder dispatch(context, "moe_cores", "moe_cores_rows");
  bind_operands(context, job, false, &dispatch);
  bind_weights(job, &dispatch);
  bind_output(context, job, &dispatch);
  dispatch.scratch(kScratchArgument, prepared.offset, prepared.bytes, false);
  dispatch.shared_row(prepared_bytes(p) / sizeof(float), 1);
  dispatch.grid(context.rows() * p.top_k, groups_of_choice(context, p), 1, kRowThreads);
}

/** Slices of a few rows, which simdgroups round for themselves. */
void multiply_slices(CommandContext& context, const ExpertProducts& job) {
  const bool is_combining = job.p.epilogue == kMoeLinearCombine;
  DispatchBuilder dispatch(context, "moe_cores", is_combining ? "moe_cores_combine" : "moe_cores_slices");
  bind_operands(context, job, false, &dispatch);
  bind_weights(job, &dispatch);
  bind_output(context, job, &dispatch);
  dispatch.nothing(kScratchArgument).grid(context.rows(), divide_up(job.p.out, kTileRows), 1, kRowThreads);
}

/** How many rows are multiplied: the tiles of an expert's choices, and whether wgmma is used. */
struct ChoiceTiling {
  uint32_t choices;  ///< of a tile
  bool has_warpgroups;
  uint32_t most_tiles;  ///< maximum for the choices of all rows; see expert_tiles_nvidia.h
};

ChoiceTiling choice_tiling(const CommandContext& context, const ExpertProducts& job) {
  const MoeLinearParams& p = job.p;
  const uint32_t choices = context.rows() * p.top_k, share = choices / p.experts;
  bool has_warpgroups = context.traits.has_warpgroups && share >= kLeastShare;
  for (uint32_t i = 0; i < p.weights; ++i) {
    const uint64_t scalars = uint64_t{p.weight[i].rows_per_expert} * p.experts * (p.in / kGroupColumns);
    has_warpgroups = has_warpgroups && has_scalar_words(context.command, kFirstWeight + 3 * (job.first_weight + i), scalars);
  }
  const uint32_t wide = share <= kSmallShare ? 8 : 32;
  const uint32_t tile = !has_warpgroups ? wide : share >= kLargeShare ? 128 : 64;
  return {tile, has_warpgroups, std::min(choices / tile + p.experts, choices)};
}

/** Sorts the choices by expert. */
ScratchRegion sort(CommandContext& context, const ExpertProducts& job, const ChoiceTiling& tiling) {
  const size_t choices = size_t{context.rows()} * job.p.top_k;
  const ScratchRegion groups = take(context, tiling.most_tiles * size_t{16} + choices * sizeof(uint32_t));
  DispatchBuilder dispatch(context, "moe_wide", "moe_sort" + std::to_string(tiling.choices));
  dispatch.params(job.p).read(kExperts, kExperts + kFirstOperand);
  dispatch.scratch(kScratchArgument, groups.offset, groups.bytes, true).grid(1, 1, 1, kSortThreads);
  return groups;
}

/** Many rows, expert by expert. */
void multiply_many(CommandContext& context, const ExpertProducts& job) {
  const MoeLinearParams& p = job.p;
  const ChoiceTiling tiling = choice_tiling(context, job);
  const ScratchRegion prepared = prepare(context, job);
  const ScratchRegion groups = sort(context, job, tiling);
  const std::string kernel = tiling.has_warpgroups ? "moe_warpgroup" + std::to_string(tiling.choices)
                                                   : "moe_wide" + std::to_string(tiling.choices);
  DispatchBuilder dispatch(context, tiling.has_warpgroups ? "moe_warpgroup" : "moe_wide", kernel);
  dispatch.params(p).scratch(kFirstOperand + 1, prepared.offset, prepared.bytes, false);
  bind_weights(job, &dispatch);
  bind_output(context, job, &dispatch);
  dispatch.scratch(kScratchArgument, groups.offset, groups.bytes, false);
  const uint32_t threads = tiling.has_warpgroups ? MARKBASE_WARPGROUP_THREADS : kWideThreads;
  if (tiling.has_warpgroups) dispatch.shared_bytes(wide_shared_bytes(threads, tiling.choices, kWideRows, 4));
  dispatch.grid(divide_up(p.out, kWideRows / p.weights), tiling.most_tiles, 1, threads);
}

}  // namespace

bool runs_on_expert_cores(const CommandContext& context, uint32_t first, uint32_t count) {
  const auto& p = context.params<MoeLinearParams>();
  if (!context.traits.has_tensor_cores() || p.is_fast == 0) return false;
  if (p.has_slices != 0 && p.has_norm != 0) return false;
  if (p.in % kGroupColumns != 0 || p.in > kMaxColumns || p.experts > kMaxExperts || p.top_k > kMaxChosen) return false;
  for (uint32_t i = first; i < first + count; ++i) {
    if (!is_stored_for_cores(context.command, p, i)) return false;
  }
  if (activation_alignment(operand_offset(context.command, 0), p.x_stride) != 16) return false;
  return p.has_norm == 0 || (p.norm_gain_type == kScalarBf16 && operand_offset(context.command, 1) % 16 == 0);
}

void multiply_on_cores(CommandContext& context, const ExpertProducts& job) {
  const bool has_few_rows = context.rows() <= kMostFewRows;
  if (has_few_rows && job.p.has_slices != 0) {
    // It chooses the experts too.
    if (job.p.has_routing != 0) prepare(context, job);
    multiply_slices(context, job);
    return;
  }
  if (job.p.epilogue == kMoeLinearCombine) {
    // The products first, then their sums.
    ExpertProducts stored = job;
    stored.p.epilogue = kMoeLinearStore;
    stored.p.y_stride = job.p.top_k * job.p.out;
    stored.products = take(context, size_t{context.rows()} * stored.p.y_stride * sizeof(float));
    multiply_on_cores(context, stored);
    combine_products(context, stored.products.offset, stored.products.bytes);
  } else if (!has_few_rows) {
    multiply_many(context, job);
  } else if (context.rows() == 1) {
    multiply_row(context, job);
  } else {
    multiply_rows(context, job);
  }
}

}  // namespace markbase::gpu
