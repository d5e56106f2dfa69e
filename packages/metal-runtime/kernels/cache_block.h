#pragma once
#include <stdint.h>

/**
 * A cache is an array of blocks, [blocks, 32, G, K]. A step brings a table for each of its sequences: for positions 0 .. 31, 32 .. 63 and
 * so on, a pair of block numbers, first of the caches of full layers, then of those of sliding layers. The slot of a row is the index in
 * the step's tables at which the table of its sequence begins.
 */
#define MARKBASE_BLOCK_TOKENS 32
#define MARKBASE_BLOCK_KINDS 2
