#pragma once
#include <stdint.h>

/** Operands of a command that a dispatch can shift. */
#define MARKBASE_LAUNCH_OPERANDS 20

/**
 * Arguments of a dispatch of a Metal kernel in addition to the parameters of its family. They belong to a plan for steps of one shape, so
 * they do not change from step to step.
 */
struct Launch {
  uint32_t rows;          ///< rows of the command's row set
  uint32_t parts;         ///< of pool_rows: rows of the step; of attention_few: spans of a row with a long context
  uint32_t has_prologue;  ///< 1: the dispatch normalises its rows itself
  uint32_t is_split;      ///< attention stores the results of spans for a dispatch that folds them: spans per head; linear_wide the
                          ///< products of shares of the columns for one that adds them: shares; 0: they do not
  uint32_t alignment[3];  ///< alignment of every row of a weight in bytes: 2, 4, 8 or 16
  uint32_t x_stride;      ///< elements between two rows of what a linear multiplies: x, or rows that were prepared
  uint32_t x_alignment;   ///< alignment of these rows in bytes, up to 16
  uint32_t has_segments;  ///< 1: attention over rows of the step, with segments instead of slots
  uint32_t shift[MARKBASE_LAUNCH_OPERANDS];  ///< bytes from a buffer's bound offset to the operand
};
static_assert(sizeof(Launch) == 120, "host and kernel disagree on Launch");
