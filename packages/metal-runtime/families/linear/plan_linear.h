#pragma once

#include <optional>

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** Operands of a linear command: three per weight, then the outputs. */
enum LinearOperand : uint32_t { kLinearX, kLinearResidual, kResidualGain, kLinearH, kNormGain, kEpilogueOperand, kFirstWeight };

inline constexpr uint32_t kMostWeights = 3;
inline constexpr uint32_t kWeightParts = 3;  ///< codes, scales, biases
/** Index of the outputs among the buffers of kernels, which always have bindings for three weights. */
inline constexpr uint32_t kFirstOutput = kFirstWeight + kMostWeights * kWeightParts;

/** Location of the rows that are multiplied. */
struct PreparedRows {
  bool is_scratch;  ///< else x, or h in the arena
  size_t offset;
  size_t size_bytes;
  uint32_t operand;  ///< kLinearX or kLinearH
  uint32_t stride;
  bool is_wide = false;  ///< in the layout of linear_wide
};

/** Weights of a command that one dispatch multiplies, by index. */
struct WeightGroup {
  uint32_t count = 0;
  uint32_t index[kMostWeights] = {};
};

/** Scratch memory for the output of a product. */
struct ScratchOutput {
  size_t offset;
  size_t size_bytes;
};

/** Products with weights of the same storage format and the same rows: what a strategy plans. */
struct LinearProduct {
  CommandContext& context;
  WeightGroup group;
  LinearParams p;                         ///< parameters of the command, with only the weights of the group
  const PreparedRows* rows = nullptr;     ///< not yet clamped; null: x, and the product includes the prologue
  const ScratchOutput* output = nullptr;  ///< output of a single weight; null: the command's outputs
};

/** One way to compute products; plan.cc has the order of preference. */
struct LinearStrategy {
  bool (*takes)(const LinearProduct& product);
  void (*plan)(const LinearProduct& product);
};

extern const LinearStrategy kStreamLinear;
extern const LinearStrategy kCoresLinear;
extern const LinearStrategy kExactLinear;
extern const LinearStrategy kWideLinear;
extern const LinearStrategy kRowLinear;
extern const LinearStrategy kTileLinear;
extern const LinearStrategy kRowsLinear;

/** Products of a command with some of its weights. `rows`: null if the products include the prologue; else the prologue has run. */
LinearProduct product_of(CommandContext& context, const WeightGroup& group, const PreparedRows* rows);

/** Maximum number of rows of a step for which kernels that convert every row are faster than tiles, on NVIDIA GPUs. */
inline constexpr uint32_t kMostUntiledRows = 8;

/**
 * True when products run on tiles: on NVIDIA GPUs in steps of many rows, elsewhere in all steps of a program of many rows, so that a row's
 * bits do not depend on its neighbours.
 */
inline bool is_tiled(const CommandContext& context, const LinearParams& p) {
  return p.is_fast != 0 && (context.traits.has_tensor_cores() ? context.rows() > kMostUntiledRows : p.has_few_rows == 0);
}

inline bool has_prologue(const LinearParams& p) { return p.has_residual != 0 || p.has_norm != 0; }

/** Alignment of every row in bytes. */
uint32_t row_alignment_of(const CommandContext& context, const PreparedRows& rows);

/** Binds rows that are multiplied in place. */
void bind_rows(const PreparedRows& rows, DispatchBuilder* dispatch);

/** Binds the inputs of the prologue, or prepared rows instead. */
void bind_source(const LinearProduct& product, const std::optional<PreparedRows>& rows, DispatchBuilder* dispatch);

void bind_weights(const LinearProduct& product, DispatchBuilder* dispatch);

void bind_outputs(const LinearProduct& product, DispatchBuilder* dispatch);

/** Binds everything else: the operand of the epilogue, weights, outputs, and the indices of output rows. */
void bind_products(const LinearProduct& product, DispatchBuilder* dispatch);

}  // namespace markbase::gpu
