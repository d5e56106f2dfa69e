#pragma once

#include <cstdint>

namespace markbase {

/** The rows of an activation: all rows of the step [T], or those whose logits are requested [N]. */
enum RowSet : uint32_t { kAllRows = 0, kOutputRows = 1 };

/** How the next token of one output row is chosen. Mirrors `SamplingParams` in src/step.ts. */
struct SampleParams {
  float temperature;         ///< 0 = greedy
  float top_p;               ///< 1 = off
  float min_p;               ///< 0 = off
  float repetition_penalty;  ///< 1 = off; divides positive and multiplies negative logits of tokens that occurred
  float presence_penalty;    ///< 0 = off; subtracted once from tokens that were generated
  float frequency_penalty;   ///< 0 = off; subtracted per occurrence among the generated tokens
  uint32_t top_k;            ///< 0 = off
  uint32_t seed_low;         ///< seed of the sequence
  uint32_t seed_high;
  uint32_t draw;           ///< index of the drawn token in its sequence: same seed and draw, same number
  uint32_t top_logprobs;   ///< how many alternatives to report, at most kMaxTopLogprobs
  uint32_t history_begin;  ///< range in StepView::history_*
  uint32_t history_end;
  uint32_t bias_begin;  ///< range in StepView::bias_*
  uint32_t bias_end;
  uint32_t allowed_begin;  ///< first word of the row's mask in StepView::allowed_word, or kNoMask: all are allowed
};

/** SampleParams::allowed_begin of a row that may choose every token. */
inline constexpr uint32_t kNoMask = 0xffffffffu;

/** Alternatives that can be reported per sampled token. */
inline constexpr uint32_t kMaxTopLogprobs = 20;

/**
 * Everything that changes from step to step, as kernels read it. Arrays of the row sets are indexed by RowSet and hold
 * rows[set] entries.
 */
struct StepView {
  uint32_t rows[2];
  const int32_t* position[2];     ///< absolute position of the row in its sequence
  const int32_t* slot[2];         ///< sequence of the row: where its table begins in `table`; without caches, any number
  const int32_t* visible_end[2];  ///< last position that the row may see in sliding layers, >= position (image blocks)
  const int32_t* table;           ///< [table_entries] block numbers of the sequences' tables, see kernels/cache_block.h
  uint32_t table_entries;
  const int32_t* token;          ///< [T] ids for the embedding table
  const int32_t* layer_token;    ///< [T] ids for the per-layer table: placeholders are replaced by the pad id
  const int32_t* soft_index;     ///< [T] row of the soft tokens that replaces this row's embedding, or -1
  const int32_t* output_row;     ///< [N] which of the T rows each output row is
  const SampleParams* sample;    ///< [N]
  const int32_t* history_token;  ///< tokens that occurred, for the penalties
  const int32_t* history_count;  ///< how often it was generated; 0 = only in the prompt
  const int32_t* bias_token;     ///< tokens whose logits are changed
  const float* bias_value;       ///< what is added to them
  const uint32_t* allowed_word;  ///< masks of ceil(V / 32) words: bit id % 32 of word id / 32 is set where id may be chosen
};

}  // namespace markbase
