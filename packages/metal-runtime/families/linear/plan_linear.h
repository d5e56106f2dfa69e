#pragma once

#include <optional>

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** Operands of a linear command; those of a weight are three, and after the weights come the outputs. */
enum LinearOperand : uint32_t { kLinearX, kLinearResidual, kResidualGain, kLinearH, kNormGain, kEpilogueOperand, kFirstWeight };

inline constexpr uint32_t kMostWeights = 3;
inline constexpr uint32_t kWeightParts = 3;  ///< codes, scales, biases
/** Where the outputs are among the buffers of kernels, which have places for three weights, however many a command has. */
inline constexpr uint32_t kFirstOutput = kFirstWeight + kMostWeights * kWeightParts;

/** Rows that are multiplied: where they lie. */
struct PreparedRows {
  bool is_scratch;  ///< else x, or h in the arena
  size_t offset;
  size_t size_bytes;
  uint32_t operand;  ///< kLinearX or kLinearH
  uint32_t stride;
  bool is_wide = false;  ///< as linear_wide takes them
};

/** Weights of one command that one dispatch multiplies, by their index. */
struct WeightGroup {
  uint32_t count = 0;
  uint32_t index[kMostWeights] = {};
};

/** Scratch memory for the output of a product. */
struct ScratchOutput {
  size_t offset;
  size_t size_bytes;
};

/** Products with weights that are stored alike and take the same rows: what a strategy plans. */
struct LinearProduct {
  CommandContext& context;
  WeightGroup group;
  LinearParams p;                         ///< the command's, with the weights of the group alone
  const PreparedRows* rows = nullptr;     ///< not clamped yet; null: x, and the prologue is a part of the work
  const ScratchOutput* output = nullptr;  ///< of a weight alone; null: the command's outputs
};

/** One way to make products; see plan.cc for their order. */
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

/** Products of a command with some of its weights. `rows`: null for those that do the prologue; else they have nothing of it left. */
LinearProduct product_of(CommandContext& context, const WeightGroup& group, const PreparedRows* rows);

/** True when all steps of the program run on tiles, however few rows one has: a row's bits do not depend on its neighbours. */
inline bool is_tiled(const LinearParams& p) { return p.is_fast != 0 && p.has_few_rows == 0; }

inline bool has_prologue(const LinearParams& p) { return p.has_residual != 0 || p.has_norm != 0; }

/** Bytes that the address of every row is a multiple of. */
uint32_t row_alignment_of(const CommandContext& context, const PreparedRows& rows);

/** Binds rows that are multiplied as they lie. */
void bind_rows(const PreparedRows& rows, DispatchBuilder* dispatch);

/** Binds what the prologue reads, or prepared rows in its place. */
void bind_source(const LinearProduct& product, const std::optional<PreparedRows>& rows, DispatchBuilder* dispatch);

void bind_weights(const LinearProduct& product, DispatchBuilder* dispatch);

void bind_outputs(const LinearProduct& product, DispatchBuilder* dispatch);

/** Binds all that is not rows: the operand of the epilogue, weights, outputs, the rows that are outputs. */
void bind_products(const LinearProduct& product, DispatchBuilder* dispatch);

}  // namespace markbase::gpu
