#include "linear_exact_tiles.h"
#include "plan_cores.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Maximum number of rows that linear_exact takes one by one. */
constexpr uint32_t kMostSingleRows = 64;

/** Columns of a chunk of 8-bit codes. */
constexpr uint32_t kChunk = 32;
/** Maximum number of outputs of linear_exact_rows: those of routers. */
constexpr uint32_t kMostOutputs = 512;
/** Threadgroup memory that linear_exact_rows declares. */
constexpr uint32_t kDeclaredBytes = 128;

uint32_t shared_bytes(const LinearParams& p) { return exact_shared_bytes(p.in, p.weight[0].group); }

/**
 * The prologue and one product with few outputs, with the bits of linear_row and linear_rows: for up to 64 rows, one output per simdgroup;
 * for more, linear_exact_rows.
 */
bool takes(const LinearProduct& product) {
  const CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const LinearWeightParams& weight = p.weight[0];
  if (product.rows != nullptr || p.weights != 1 || is_tiled(context, p)) return false;
  const bool has_many_rows = context.rows() > kMostSingleRows;
  if (weight.out > (has_many_rows ? kMostOutputs : kRowSimdgroups * context.traits.multiprocessors)) return false;
  // The sums of norms run over all threads.
  if (p.in <= kSimdgroupWidth || p.in > MARKBASE_EXACT_COLUMNS || p.in % kChunk != 0) return false;
  if (weight.format != kWeightAffine || weight.bits != 8 || weight.scale_type != kScalarBf16) return false;
  if (has_many_rows && shared_bytes(p) + kDeclaredBytes > context.traits.shared_bytes) return false;
  if (row_alignment(context.command, kFirstWeight, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
  return (p.has_norm == 0 || p.norm_gain_type == kScalarBf16) && (p.has_residual == 0 || p.residual_gain_type == kScalarBf16);
}

void plan(const LinearProduct& product) {
  CommandContext& context = product.context;
  const LinearParams& p = product.p;
  const bool has_many_rows = context.rows() > kMostSingleRows;
  DispatchBuilder dispatch(context, has_many_rows ? "linear_exact_rows" : "linear_exact",
                           has_many_rows ? "linear_exact_rows_q8" : "linear_exact_q8");
  dispatch.operands(kLinearX, kFirstWeight + kWeightParts).operand(kFirstWeight + kWeightParts, kFirstOperand + kFirstOutput, kFirstOutput);
  dispatch.step(kStepArgument, StepArray::kOutputRow);
  if (has_many_rows) {
    dispatch.shared_bytes(shared_bytes(p));
    dispatch.grid(divide_up(p.weight[0].out, MARKBASE_EXACT_OUTPUTS), divide_up(context.rows(), MARKBASE_EXACT_ROWS), 1, kRowThreads);
  } else {
    dispatch.grid(divide_up(p.weight[0].out, kRowSimdgroups), context.rows(), 1, kRowThreads);
  }
}

}  // namespace

const LinearStrategy kExactLinear = {takes, plan};

}  // namespace markbase::gpu
