#pragma once
#include <stdint.h>

/** Operands of a command that a dispatch can shift. */
#define MARKBASE_LAUNCH_OPERANDS 20

/**
 * What a dispatch of a Metal kernel is told beside the parameters of its family. It belongs to a plan of steps of one
 * shape, so that nothing of it changes from step to step.
 */
struct Launch {
  uint32_t rows;          ///< rows of the command's row set
  uint32_t parts;         ///< of pool_rows: rows of the step; of attention_few: spans of a row that sees much
  uint32_t has_prologue;  ///< 1: the dispatch normalises its rows itself
  uint32_t is_split;      ///< attention stores the results of spans for a dispatch that folds them: places of a head; linear_wide the
                          ///< products of shares of the columns for one that adds them: shares; 0: they do not
  uint32_t alignment[3];  ///< bytes that the address of every row of a weight is a multiple of: 2, 4, 8 or 16
  uint32_t x_stride;      ///< elements between two rows of what a linear multiplies: x, or rows that were prepared
  uint32_t x_alignment;   ///< bytes that the address of every such row is a multiple of, up to 16
  uint32_t has_segments;  ///< 1: attention over rows of the step, those of a segment in the place of a slot
  uint32_t shift[MARKBASE_LAUNCH_OPERANDS];  ///< bytes from a buffer's bound offset to the operand
};
static_assert(sizeof(Launch) == 120, "host and kernel disagree on Launch");
