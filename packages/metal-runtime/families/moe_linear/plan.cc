#include "moe_linear_params.h"

#include "elementwise/elementwise_params.h"
#include "moe_combine/moe_combine_params.h"
#include "plan_cores.h"
#include "moe_route/moe_route_params.h"
#include "rms_norm/rms_norm_params.h"
#include "step_planner.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

constexpr uint32_t kFirstWeight = 6;  ///< operand index of the first weight
constexpr uint32_t kOutputArgument = 14;
constexpr uint32_t kStreams = 4;        ///< weight rows that a simdgroup multiplies at a time
constexpr uint32_t kTileStreams = 2;    ///< see moe_group.metal
constexpr uint32_t kManyRows = 8;       ///< from here on, rows are sorted by expert
constexpr uint32_t kMaxExperts = 1024;  ///< see metal_route.h
constexpr uint32_t kMaxChosen = 128;

/** Rows that the products read: x itself, or normalised in scratch. */
struct Source {
  bool is_scratch;
  size_t offset;
  size_t size_bytes;
  uint32_t stride;
};

/** Routing of several rows, with the kernel of moe_route. */
void route(CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  const MoeRouteParams routing = {p.row_set,        p.experts,       p.top_k,      p.logits_stride,
                                  p.experts_stride, p.shares_stride, p.scale_type, p.logit_scale};
  DispatchBuilder dispatch(context, "moe_route", "moe_route");
  dispatch.params(routing);
  for (uint32_t i = 0; i < 4; ++i) dispatch.operand(2 + i, kFirstOperand + i, i);
  dispatch.grid(context.rows(), 1, 1, kLanes);
}

/** Norm of several rows, with the kernel of rms_norm. */
Source normalise(CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  const size_t bytes = size_t{context.rows()} * p.in * sizeof(float);
  const Source rows = {true, context.scratch.take(bytes), bytes, p.in};
  const RmsNormParams norm = {.row_set = p.row_set,
                              .groups = 1,
                              .width = p.in,
                              .x_stride = p.x_stride,
                              .residual_stride = 0,
                              .y_stride = p.in,
                              .gain_type = p.norm_gain_type,
                              .has_gain = 1,
                              .has_residual = 0,
                              .eps = p.eps,
                              .output_scale = 1};
  DispatchBuilder dispatch(context, "rms_norm", "rms_norm");
  dispatch.params(norm).operands(0, 2).nothing(kFirstOperand + 2);
  dispatch.scratch(kFirstOperand + 3, rows.offset, rows.size_bytes, true);
  dispatch.grid(1, context.rows(), 1, p.in <= kSimdgroupWidth ? kLanes : kRowThreads);
  return rows;
}

/** Weights of a command that one dispatch multiplies: all, or one by its index. */
struct Selection {
  uint32_t first;
  uint32_t count;
};

/** Destination of products: the output of the command, or scratch memory. */
struct Target {
  bool is_scratch;
  size_t offset;
  size_t size_bytes;
};

/** True when bf16 matrices are multiplied; see is_tiled in ../linear/plan_linear.h. */
bool is_tiled(const CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  return p.is_fast != 0 && (context.traits.has_tensor_cores() ? context.rows() > kManyRows : p.has_few_rows == 0);
}

/** Choices of a tile; see moe_group.metal and moe_linear_tile.metal. */
uint32_t tile_choices(const CommandContext& context) { return is_tiled(context) ? 32 : 8; }

/** The choices of all rows by expert, in scratch; see metal_groups.h. */
struct Groups {
  size_t offset = 0;
  size_t size_bytes = 0;
};

/** Sorts the choices by expert. */
Groups group(CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  const size_t bytes = (size_t{2} * (p.experts + 1) + size_t{context.rows()} * p.top_k) * sizeof(uint32_t);
  const Groups groups = {context.scratch.take(bytes), bytes};
  constexpr uint32_t kExperts = 4;
  DispatchBuilder dispatch(context, "moe_group", "moe_group_" + std::to_string(tile_choices(context)));
  if (p.has_routing != 0) dispatch.read(kExperts, kExperts + kFirstOperand);
  else dispatch.operand(kExperts);
  dispatch.scratch(kScratchArgument, groups.offset, groups.size_bytes, true).grid(1, 1, 1, kRowThreads);
  return groups;
}

/** Maximum number of tiles of the choices of all rows: each expert may have one that is not full. */
uint32_t most_tiles(const CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  const uint32_t choices = context.rows() * p.top_k;
  const uint32_t tiles = choices / tile_choices(context) + p.experts;
  return tiles < choices ? tiles : choices;
}

/** A kernel and the work of one of its threadgroups. */
struct Cut {
  const char* source;
  std::string kernel;  ///< without the format
  uint32_t streams;    ///< weight rows of all weights together
  uint32_t threads;
};

Cut cut_of(const CommandContext& context, const std::string& kind) {
  if (kind != "tiles") return {"moe_linear", "moe_linear_" + kind + "_", kStreams * kRowSimdgroups, kRowThreads};
  if (is_tiled(context)) return {"moe_linear_tile", "moe_linear_tile_", 64, 128};
  return {"moe_group", "moe_tiles_", kTileStreams * kRowSimdgroups, kRowThreads};
}

/** The products of a selection, with a kernel of a kind: "row", "rows", "combine", or "tiles" over groups. */
void multiply(
    CommandContext& context, const std::string& kind, Selection selection, const Source& rows, const Target& target, const Groups& groups) {
  const auto& p = context.params<MoeLinearParams>();
  MoeLinearParams selected = p;
  selected.weights = selection.count;
  for (uint32_t i = 0; i < selection.count; ++i) selected.weight[i] = p.weight[selection.first + i];
  if (target.is_scratch) selected.y_stride = p.top_k * p.out;
  const MoeLinearWeightParams& weight = selected.weight[0];
  const bool does_prologue = kind == "row";
  const bool has_tiles = kind == "tiles";
  const Cut cut = cut_of(context, kind);
  DispatchBuilder dispatch(context, cut.source, cut.kernel + kernel_format(weight.format, weight.bits));
  if (has_tiles) dispatch.scratch(kScratchArgument, groups.offset, groups.size_bytes, false);
  dispatch.params(selected);
  if (rows.is_scratch) dispatch.scratch(kFirstOperand, rows.offset, rows.size_bytes, false);
  else dispatch.operand(0);
  for (uint32_t operand = 1; operand < 4; ++operand) {
    if (does_prologue) dispatch.operand(operand);
    else dispatch.nothing(operand + kFirstOperand);
  }
  for (uint32_t operand = 4; operand < 6; ++operand) {
    if (does_prologue || context.command.bindings[operand].kind != Binding::Kind::kArena) dispatch.operand(operand);
    else dispatch.read(operand, operand + kFirstOperand);
  }
  Launch& launch = dispatch.launch();
  launch.alignment[0] = 16;
  const size_t row_bytes = weight_row_bytes(weight.format, weight.bits, p.in);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t slot = kFirstWeight + 3 * i, operand = kFirstWeight + 3 * (selection.first + i);
    for (uint32_t part = 0; part < 3; ++part) {
      if (i < selection.count) dispatch.operand(operand + part, slot + part + kFirstOperand, slot + part);
      else dispatch.nothing(slot + part + kFirstOperand);
    }
    if (i >= selection.count) continue;
    launch.alignment[0] = std::min(launch.alignment[0], row_alignment(context.command, operand, row_bytes));
  }
  if (target.is_scratch) dispatch.scratch(kOutputArgument, target.offset, target.size_bytes, true);
  else dispatch.operand(kFirstWeight + 3 * p.weights, kOutputArgument, 18);
  launch.x_stride = rows.stride;
  const size_t offset = rows.is_scratch ? 0 : operand_offset(context.command, 0);
  const uint32_t slice_alignment = p.has_slices != 0 ? alignment_of(size_t{p.in} * sizeof(float)) : 16;
  launch.x_alignment = std::min(activation_alignment(offset, rows.stride), slice_alignment);
  if (does_prologue) dispatch.shared_row(p.in, chunk_columns(weight.format));
  const uint32_t copies = has_tiles ? most_tiles(context) : kind == "combine" ? context.rows() : context.rows() * p.top_k;
  dispatch.grid(divide_up(p.out, cut.streams / selection.count), copies, 1, cut.threads);
}

/** True when the choices of a step are sorted by expert. */
bool is_sorted(const CommandContext& context) { return is_tiled(context) || context.rows() >= kManyRows; }

/** geglu of two weights that are stored differently: two products, then the formula. */
void multiply_unlike_pair(CommandContext& context, const Source& rows) {
  const auto& p = context.params<MoeLinearParams>();
  const uint32_t width = p.top_k * p.out;
  const size_t bytes = size_t{context.rows()} * width * sizeof(float);
  const size_t gate = context.scratch.take(bytes), up = context.scratch.take(bytes);
  const Groups groups = is_sorted(context) ? group(context) : Groups{};
  const char* kind = is_sorted(context) ? "tiles" : "rows";
  for (uint32_t i = 0; i < 2; ++i) {
    const size_t products = i == 0 ? gate : up;
    // Each as it would be planned alone: a fusion does not change bits.
    if (!runs_on_expert_cores(context, i, 1)) {
      multiply(context, kind, {i, 1}, rows, {true, products, bytes}, groups);
      continue;
    }
    ExpertProducts job = {p, i, {products, bytes}};
    job.p.weights = 1;
    job.p.weight[0] = p.weight[i];
    job.p.epilogue = kMoeLinearStore;
    job.p.y_stride = width;
    job.p.has_routing = 0;
    multiply_on_cores(context, job);
  }
  const ElementwiseParams geglu = {kElementwiseGeglu, p.row_set, width, width, width, p.y_stride, 0, 0};
  DispatchBuilder(context, "elementwise", "elementwise")
      .params(geglu)
      .scratch(kFirstOperand, gate, bytes, false)
      .scratch(kFirstOperand + 1, up, bytes, false)
      .operand(kFirstWeight + 3 * p.weights, kFirstOperand + 2, 0)
      .grid(divide_up(width, kRowThreads), context.rows(), 1, kRowThreads);
}

/** Products of many rows, expert by expert, then, when combining, their sums over the experts of a row with the kernel of moe_combine. */
void multiply_tiles(CommandContext& context, const Source& rows) {
  const auto& p = context.params<MoeLinearParams>();
  const Groups groups = group(context);
  if (p.epilogue != kMoeLinearCombine) {
    multiply(context, "tiles", {0, p.weights}, rows, {false, 0, 0}, groups);
    return;
  }
  const uint32_t width = p.top_k * p.out;
  const size_t bytes = size_t{context.rows()} * width * sizeof(float);
  const size_t products = context.scratch.take(bytes);
  multiply(context, "tiles", {0, 1}, rows, {true, products, bytes}, groups);
  combine_products(context, products, bytes);
}

}  // namespace

void combine_products(CommandContext& context, size_t products, size_t bytes) {
  const auto& p = context.params<MoeLinearParams>();
  const MoeCombineParams params = {p.row_set, p.top_k, p.out, p.top_k * p.out, p.shares_stride, p.y_stride};
  constexpr uint32_t kShares = 5;
  DispatchBuilder(context, "moe_combine", "moe_combine")
      .params(params)
      .scratch(kFirstOperand, products, bytes, false)
      .operand(kShares, kFirstOperand + 1, kShares)
      .operand(kFirstWeight + 3, kFirstOperand + 2, 18)
      .grid(divide_up(p.out, kRowThreads), context.rows(), 1, kRowThreads);
}

Status plan_moe_linear(CommandContext& context) {
  const auto& p = context.params<MoeLinearParams>();
  if (p.experts > kMaxExperts || p.top_k > kMaxChosen) {
    // Reached only without the moe_route of the same experts, which is refused first.
    return unsupported(context.command, "at most 128 of 1024 experts");
  }
  const bool is_unlike_pair = p.weights == 2 && !is_stored_alike(p.weight[0], p.weight[1]);
  if (!is_unlike_pair && runs_on_expert_cores(context, 0, p.weights)) {
    multiply_on_cores(context, {p, 0});
    return Status::good();
  }
  const bool is_combining = p.epilogue == kMoeLinearCombine;
  const bool does_prologue = context.rows() == 1 && !is_tiled(context) && p.has_slices == 0 && !is_combining && !is_unlike_pair &&
                             (p.has_norm != 0 || p.has_routing != 0) && p.in * sizeof(float) <= kMaxSharedRowBytes;
  Source rows = {false, 0, 0, p.x_stride};
  if (!does_prologue && p.has_routing != 0) route(context);
  if (!does_prologue && p.has_norm != 0) rows = normalise(context);
  if (is_unlike_pair) {
    multiply_unlike_pair(context, rows);
  } else if (is_sorted(context)) {
    multiply_tiles(context, rows);
  } else {
    multiply(context, does_prologue ? "row" : is_combining ? "combine" : "rows", {0, p.weights}, rows, {false, 0, 0}, {});
  }
  return Status::good();
}

}  // namespace markbase::gpu
