#include "plan_cores.h"

#include <algorithm>
#include <string>

#include "plan_prologue.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Columns that the tensor cores take at a time; kSpan of packed_rows.h. */
constexpr uint32_t kSpan = 64;
/** Columns of a chunk of the linear_whole kernels. */
constexpr uint32_t kWholeSpan = 256;
/** Widest row with a norm; kMaxNormedColumns of packed_rows.h. */
constexpr uint32_t kMaxNormedWidth = 6144;
/** Threadgroup memory for a packed row: what every NVIDIA GPU has, minus what the kernel declares. */
constexpr size_t kMaxPackedBytes = 46 * 1024;
/** Weight rows of a product. */
constexpr uint32_t kTile = 16;

size_t packed_row_bytes(uint32_t in) { return in / 2 * sizeof(uint32_t) + in / kSpan * sizeof(float); }

/** Rows of a threadgroup, and tiles of outputs. */
struct CoreShape {
  uint32_t rows;
  uint32_t tiles;
};

CoreShape shape_of(uint32_t rows) {
  if (rows <= 8) return {8, 1};
  if (rows <= 16) return {16, 2};
  return {32, 2};
}

/** How the simdgroups of the kernels for up to eight rows divide the blocks of outputs. */
struct RowTeams {
  bool is_alone;  ///< every simdgroup has its own blocks; else the simdgroups of a threadgroup divide the columns of a block
  uint32_t threadgroups;
};

/** Overhead of the beginning and end of a block, in chunks of 256 columns: simdgroups alone, and together. */
constexpr double kAloneCost = 0.25, kTogetherCost = 0.75;

RowTeams teams_of(const CommandContext& context, uint32_t in, uint32_t blocks) {
  const uint32_t resident = 2 * context.traits.multiprocessors;
  const double chunks = divide_up(in, kWholeSpan);
  const double alone = divide_up(blocks, resident * kRowSimdgroups) * (chunks + kAloneCost);
  const double together = divide_up(blocks, resident) * (chunks / kRowSimdgroups + kTogetherCost);
  if (alone < together) return {true, std::min(divide_up(blocks, kRowSimdgroups), resident)};
  // Threadgroups that pack a row for themselves use it for several blocks, unless there are few.
  return {false, blocks <= 2 * resident ? blocks : resident};
}

uint32_t count_blocks(const LinearParams& p, uint32_t tiles) {
  const bool is_pair = p.epilogue == kLinearGeglu;
  const uint32_t outputs = (is_pair ? kTile / 2 : kTile) * tiles;
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < (is_pair ? 1 : p.weights); ++i) blocks += divide_up(p.weight[i].out, outputs);
  return blocks;
}

bool is_row_aligned(const CommandContext& context, uint32_t operand, uint32_t stride) {
  const Binding& binding = context.command.bindings[operand];
  return binding.kind == Binding::Kind::kNone || activation_alignment(operand_offset(context.command, operand), stride) == 16;
}

bool is_gain_of_bf16(const CommandContext& context, uint32_t operand, uint32_t type) {
  return type == kScalarBf16 && operand_offset(context.command, operand) % 8 == 0;
}

}  // namespace

bool is_whole(const LinearParams& p) {
  const LinearWeightParams& weight = p.weight[0];
  return weight.format == kWeightAffine && weight.bits == 4 && weight.group == kSpan && p.in % kWholeSpan == 0;
}

bool has_many_rows(const GpuTraits& traits, const LinearParams& p, uint32_t rows) {
  return rows > (traits.has_warpgroups && is_whole(p) ? kMostStreamRows : kMostCoreRows);
}

bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows) {
  if (!traits.has_tensor_cores() || p.is_fast == 0 || p.in % kSpan != 0) return false;
  if (has_many_rows(traits, p, rows)) return false;
  if (weight.format != kWeightAffine) return weight.format == kWeightBf16 || is_quantized(weight.format);
  return weight.bits % 2 == 0 && weight.group % kSpan == 0 && weight.scale_type == kScalarBf16;
}

bool packs_with_prologue(const CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  if (!is_row_aligned(context, kLinearX, p.x_stride)) return false;
  if (!has_prologue(p)) return true;
  if (p.in > kMaxNormedWidth) return false;
  if (p.has_norm != 0 && !is_gain_of_bf16(context, kNormGain, p.norm_gain_type)) return false;
  return p.has_residual == 0 ||
         (is_gain_of_bf16(context, kResidualGain, p.residual_gain_type) && is_row_aligned(context, kLinearResidual, p.residual_stride) &&
          is_row_aligned(context, kLinearH, p.h_stride));
}

namespace {

/** The same for weights of the command at their addresses. */
bool runs_on_cores(const CommandContext& context, const WeightGroup& group) {
  const auto& p = context.params<LinearParams>();
  for (uint32_t i = 0; i < group.count; ++i) {
    const LinearWeightParams& weight = p.weight[group.index[i]];
    if (!runs_on_cores(context.traits, p, weight, context.rows())) return false;
    const uint32_t operand = kFirstWeight + kWeightParts * group.index[i];
    if (row_alignment(context.command, operand, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
    if (!is_quantized(weight.format)) continue;
    // The scales of a chunk are one load, those of small floats one for each span.
    const bool is_affine = weight.format == kWeightAffine;
    if (operand_offset(context.command, operand + 1) % (is_affine ? 8 : 4) != 0) return false;
    if (is_affine && operand_offset(context.command, operand + 2) % 8 != 0) return false;
  }
  return true;
}

/** One row, which every threadgroup packs for itself. */
void plan_row(const LinearProduct& product, const std::string& format) {
  CommandContext& context = product.context;
  const RowTeams teams = teams_of(context, product.p.in, count_blocks(product.p, 1));
  const std::optional<PreparedRows> source = source_rows(product);
  DispatchBuilder dispatch(context, "linear_cores", (teams.is_alone ? "linear_cores_each_" : "linear_cores_row_") + format);
  dispatch.params(product.p);
  bind_source(product, source, &dispatch);
  bind_products(product, &dispatch);
  dispatch.shared_bytes(static_cast<uint32_t>(packed_row_bytes(product.p.in))).grid(teams.threadgroups, 1, 1, kRowThreads);
}

/** Rows that a separate dispatch packs. */
void plan_packed(const LinearProduct& product, const std::string& format) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const LinearWeightParams& first = p.weight[0];
  const CoreShape shape = shape_of(context.rows());
  const uint32_t row_blocks = divide_up(context.rows(), shape.rows), packed_rows = row_blocks * shape.rows;
  const std::optional<PreparedRows> source = source_rows(product);
  const size_t bytes = packed_rows * packed_row_bytes(p.in);
  const PreparedRows packed = {true, context.scratch.take(bytes), bytes, kLinearX, 0};
  {
    const bool interleaves = is_quantized(first.format) && first.bits == 4;
    DispatchBuilder pack(context, "linear_cores", interleaves ? "linear_pack_q4" : "linear_pack");
    pack.params(p);
    bind_source(product, source, &pack);
    pack.scratch(kScratchArgument, packed.offset, bytes, true).step(kStepArgument, StepArray::kOutputRow);
    pack.grid(packed_rows, 1, 1, kRowThreads);
  }
  std::string kernel = (shape.rows == 32 && is_whole(p) ? "linear_whole" : "linear_cores") + std::to_string(shape.rows) + "_";
  uint32_t threadgroups = count_blocks(p, shape.tiles);
  if (shape.rows == 8) {
    const RowTeams teams = teams_of(context, p.in, threadgroups);
    if (teams.is_alone) kernel = "linear_cores_each8_";
    threadgroups = teams.threadgroups;
  }
  DispatchBuilder dispatch(context, "linear_cores", kernel + format);
  dispatch.params(p);
  bind_source(product, packed, &dispatch);
  bind_products(product, &dispatch);
  dispatch.grid(threadgroups, row_blocks, 1, kRowThreads);
}

void plan(const LinearProduct& product) {
  const LinearWeightParams& first = product.p.weight[0];
  const std::string format = kernel_format(first.format, first.bits);
  const bool packs_itself = product.context.rows() == 1 && packed_row_bytes(product.p.in) <= kMaxPackedBytes;
  if (packs_itself) plan_row(product, format);
  else plan_packed(product, format);
}

}  // namespace

bool takes_cores(const LinearProduct& product) {
  const CommandContext& context = product.context;
  // Otherwise, rows that are packed for one weight would be packed again for the other.
  if (product.output != nullptr || !runs_on_cores(context, product.group)) return false;
  if (product.rows == nullptr) return packs_with_prologue(context);
  // Clamped rows are contiguous in scratch memory.
  return product.p.weight[0].has_clip != 0 || row_alignment_of(context, *product.rows) == 16;
}

const LinearStrategy kCoresLinear = {takes_cores, plan};

}  // namespace markbase::gpu
