#pragma once
#include <stdint.h>

/**
 * Parameters of the conv2d kernel: a 3 x 3 convolution over time and frequency with stride 2 and one of padding.
 *
 * A row of x is `times` steps of [frequencies][in_channels], a row of y times / 2 steps of
 * [(frequencies + 1) / 2][out_channels]. y at (time u, frequency g) sums kernel[i][j][c][.] * x at (2u - 1 + i, 2g - 1 + j, c)
 * over i, j < 3, i first, then j, then c. Time -1 of a row is the last time of the row before it, and zeros where the row's
 * position is 0; other elements outside, and times whose mask is 0, count as zeros.
 *
 * Bindings: x, mask (element t * mask_step is that of time t of a row), kernel [3][3][in_channels][out_channels] float32, y.
 */
struct Conv2dParams {
  uint32_t times;        ///< steps in a row of x, even
  uint32_t frequencies;  ///< of x
  uint32_t in_channels;
  uint32_t out_channels;
  uint32_t x_stride;     ///< elements between two rows of x
  uint32_t mask_stride;  ///< elements between two rows of the mask
  uint32_t mask_step;    ///< elements of the mask per step of x
  uint32_t y_stride;     ///< elements between two rows of y
};
static_assert(sizeof(Conv2dParams) == 32, "host and kernel disagree on Conv2dParams");

#define MARKBASE_CONV2D_OPERANDS 4
#define MARKBASE_CONV2D_ROW_SET 0  // kAllRows
