#pragma once

#include "dispatch_builder.h"
#include "linear_params.h"

namespace markbase::gpu {

/** Rows that were prepared by a dispatch of their own: where they lie. */
struct PreparedRows {
  bool is_scratch;  ///< else x, or h in the arena
  size_t offset;
  size_t size_bytes;
  uint32_t operand;  ///< 0 = x, 3 = h
  uint32_t stride;
  bool is_wide = false;  ///< as linear_wide takes them
};

/** Weights of one command that one dispatch multiplies, by their index. */
struct WeightGroup {
  uint32_t count = 0;
  uint32_t index[3] = {};
};

/** Operand index of the first weight. */
inline constexpr uint32_t kFirstWeight = 6;

/** Binds the rows that are multiplied. */
void bind_rows(const PreparedRows& rows, DispatchBuilder* dispatch);

/** The command's parameters, with the weights of a group alone. */
LinearParams select_weights(const LinearParams& p, const WeightGroup& group);

/** Binds the weights of a group. */
void bind_weights(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch);

/** Binds the outputs of a group. */
void bind_outputs(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch);

/** Binds what the prologue reads, or rows that have it behind them. */
void bind_source(const CommandContext& context, const PreparedRows* rows, DispatchBuilder* dispatch);

/** Binds the rest: the operand of the epilogue, weights and outputs of a group, the rows that are outputs. */
void bind_products(const CommandContext& context, const LinearParams& selected, const WeightGroup& group, DispatchBuilder* dispatch);

/** True when the first weight has codes of 4 bits in groups of 64, and its rows are whole chunks of 256 columns. */
bool is_whole(const LinearParams& p);

/** Rows of a command that are few in programs of many rows too: the last row of a prompt, or those of some prompts. */
inline constexpr uint32_t kMostCoreRows = 32;

/** True when the tensor cores of a GPU multiply few rows with a weight of a linear, wherever it lies: linear_cores_nvidia.metal and linear_stream_nvidia.metal. */
bool runs_on_cores(const GpuTraits& traits, const LinearParams& p, const LinearWeightParams& weight, uint32_t rows);

/** The same of weights of the command, where they lie. */
bool runs_on_cores(const CommandContext& context, const WeightGroup& group);

/** True when the prologue of the command, if it has one, can be a part of its products on tensor cores. */
bool packs_with_prologue(const CommandContext& context);

/** Multiplies with weights that are stored alike. `rows`: prepared ones; without them, the prologue is a part of the work. */
void multiply_by_cores(CommandContext& context, const WeightGroup& group, const PreparedRows* rows);

}  // namespace markbase::gpu
