#pragma once
#include <stdint.h>

/** Epilogue that the moe_linear kernels apply to the products before they store them. */
enum MoeLinearEpilogue {
  kMoeLinearStore = 0,    ///< y_x = x W_e^T, a slice for each chosen expert
  kMoeLinearGeglu = 1,    ///< two weights: y_x = gelu_tanh(x W_e^T) * (x V_e^T)
  kMoeLinearCombine = 2,  ///< y = sum of share_x * (x_x W_e^T)
};

/** The matrices [out, in] of all experts: rows first_row .. first_row + out of each rows_per_expert of one stored matrix. */
struct MoeLinearWeightParams {
  uint32_t rows_per_expert;
  uint32_t first_row;
  uint32_t format;      ///< WeightFormat
  uint32_t bits;        ///< when affine
  uint32_t group;       ///< when affine
  uint32_t scale_type;  ///< ScalarType of scales and biases when affine
};

/**
 * Parameters of the moe_linear kernels: products of every row with the matrices of the experts that it chose.
 *
 * Prologue: with has_routing, experts and shares are computed from logits first, as moe_route does; with has_norm, the rows
 * are normalised with norm_gain. Epilogue: MoeLinearEpilogue.
 *
 * Bindings: x [rows, in], or [rows, top_k * in] with has_slices; norm gain (absent unless has_norm); logits, scale per
 * expert (absent unless has_routing); experts [rows, top_k] (numbers as floats; written with has_routing); shares
 * [rows, top_k] (written with has_routing, read when combining, absent otherwise); per weight: weight, scales, biases;
 * y [rows, top_k * out], or [rows, out] when combining.
 */
struct MoeLinearParams {
  uint32_t in;            ///< columns of every weight
  uint32_t out;           ///< rows of one expert
  uint32_t weights;       ///< 1, or 2 with kMoeLinearGeglu
  uint32_t is_fast;       ///< 1: 8-bit activations for affine weights where the backend has them
  uint32_t has_few_rows;  ///< 1: kernels for a few rows; all rows of a program use the same kernels
  uint32_t x_stride;      ///< elements between two rows of x
  uint32_t has_slices;    ///< a row of x is top_k slices, one for each chosen expert
  uint32_t has_norm;
  uint32_t norm_gain_type;  ///< ScalarType
  float eps;                ///< of the norm
  uint32_t has_routing;
  uint32_t epilogue;        ///< MoeLinearEpilogue
  uint32_t y_stride;        ///< elements between two rows of y
  uint32_t row_set;         ///< RowSet of all operands
  uint32_t experts;         ///< E
  uint32_t top_k;           ///< experts chosen per row, 1 to E
  uint32_t logits_stride;   ///< elements between two rows of logits, with has_routing
  uint32_t experts_stride;  ///< ... of experts
  uint32_t shares_stride;   ///< ... of shares
  uint32_t scale_type;      ///< ScalarType of the scale per expert, with has_routing
  float logit_scale;        ///< multiplies the logits before the softmax, with has_routing
  MoeLinearWeightParams weight[2];
};
static_assert(sizeof(MoeLinearParams) == 132, "host and kernel disagree on MoeLinearParams");
