#pragma once
#include <stdint.h>

/** Which formula an elementwise kernel computes. */
enum ElementwiseOp {
  kElementwiseAdd = 0,      ///< y = (a + b) * scale
  kElementwiseScale = 1,    ///< y = a * scale; b absent
  kElementwiseGeglu = 2,    ///< y = gelu_tanh(a) * b
  kElementwiseSoftcap = 3,  ///< y = scale * tanh(a / scale); b absent
  kElementwiseClamp = 4,    ///< y = min(max(a, scale), high); b absent
  kElementwiseGlu = 5,      ///< y = a * sigmoid(b)
};

/** Parameters of the elementwise kernels, [rows, width]. Bindings: a, b (absent where the formula has none), y. */
struct ElementwiseParams {
  uint32_t op;        ///< ElementwiseOp
  uint32_t row_set;   ///< RowSet of all operands
  uint32_t width;     ///< elements per row
  uint32_t a_stride;  ///< elements between two rows of a
  uint32_t b_stride;  ///< elements between two rows of b
  uint32_t y_stride;  ///< elements between two rows of y
  float scale;        ///< factor, cap, or lower bound
  float high;         ///< upper bound of clamp
};
static_assert(sizeof(ElementwiseParams) == 32, "host and kernel disagree on ElementwiseParams");

#define MARKBASE_ELEMENTWISE_OPERANDS 3
