#include "plan_exact.h"

#include "plan_cores.h"
#include "linear_exact_tiles.h"
#include "scalar_type.h"
#include "weight_formats.h"

namespace markbase::gpu {

namespace {

/** Columns of a chunk of codes of 8 bits. */
constexpr uint32_t kChunk = 32;
/** Outputs of linear_exact_rows, at most: those of routers. */
constexpr uint32_t kMostOutputs = 512;
/** Threadgroup memory that linear_exact_rows declares. */
constexpr uint32_t kDeclaredBytes = 128;

uint32_t shared_bytes(const LinearParams& p) { return exact_shared_bytes(p.in, p.weight[0].group); }

}  // namespace

bool runs_exactly(const CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const LinearWeightParams& weight = p.weight[0];
  // Programs of many rows multiply on tiles instead, with other bits.
  if (!context.traits.has_tensor_cores() || (p.is_fast != 0 && p.has_few_rows == 0)) return false;
  const bool has_many_rows = context.rows() > kMostCoreRows;
  const uint32_t most_outputs = has_many_rows ? kMostOutputs : kRowSimdgroups * context.traits.multiprocessors;
  if (p.weights != 1 || weight.has_clip != 0 || weight.out > most_outputs) return false;
  // Sums of norms are those of all threads.
  if (p.in <= kSimdgroupWidth || p.in > MARKBASE_EXACT_COLUMNS || p.in % kChunk != 0) return false;
  if (weight.format != kWeightAffine || weight.bits != 8 || weight.scale_type != kScalarBf16) return false;
  if (has_many_rows && shared_bytes(p) + kDeclaredBytes > context.traits.shared_bytes) return false;
  if (row_alignment(context.command, kFirstWeight, weight_row_bytes(weight.format, weight.bits, p.in)) < 16) return false;
  return (p.has_norm == 0 || p.norm_gain_type == kScalarBf16) && (p.has_residual == 0 || p.residual_gain_type == kScalarBf16);
}

void multiply_exactly(CommandContext& context) {
  const auto& p = context.params<LinearParams>();
  const bool has_many_rows = context.rows() > kMostCoreRows;
  DispatchBuilder dispatch(context, has_many_rows ? "linear_exact_rows" : "linear_exact",
                           has_many_rows ? "linear_exact_rows_q8" : "linear_exact_q8");
  dispatch.operands(0, 9).operand(kFirstWeight + 3, 17, 15).step(kStepArgument, StepArray::kOutputRow);
  if (has_many_rows) {
    dispatch.shared_bytes(shared_bytes(p));
    dispatch.grid(divide_up(p.weight[0].out, MARKBASE_EXACT_OUTPUTS), divide_up(context.rows(), MARKBASE_EXACT_ROWS), 1, kRowThreads);
  } else {
    dispatch.grid(divide_up(p.weight[0].out, kRowSimdgroups), context.rows(), 1, kRowThreads);
  }
}

}  // namespace markbase::gpu
