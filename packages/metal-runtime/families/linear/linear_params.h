#pragma once
#include <stdint.h>

/** Epilogue that the linear kernels apply to the products before they store them. */
enum LinearEpilogue {
  kLinearStore = 0,     ///< y_i = x W_i^T
  kLinearGeglu = 1,     ///< two weights: y = gelu_tanh(x W_0^T) * (x W_1^T)
  kLinearGegluMul = 2,  ///< one weight: y = gelu_tanh(x W^T) * operand
  kLinearSoftcap = 3,   ///< one weight: y = cap * tanh(x W^T / cap)
};

/** One weight matrix of a linear command; see WeightView in the CPU backend for the layout. */
struct LinearWeightParams {
  uint32_t out;         ///< rows of the weight
  uint32_t format;      ///< WeightFormat
  uint32_t bits;        ///< when affine
  uint32_t group;       ///< when affine
  uint32_t scale_type;  ///< ScalarType of scales and biases when affine
  uint32_t y_stride;    ///< elements between two rows of this weight's output
  uint32_t has_clip;    ///< 1: the rows are clamped before this product, and the product before the epilogue
  float input_low;      ///< bounds of the rows; infinite = none
  float input_high;
  float output_low;  ///< bounds of the product
  float output_high;
};

/**
 * Parameters of the linear kernels: up to three products of the same rows, with an optional prologue and epilogue.
 *
 * Prologue: with gathers, rows of x and residual are chosen by the step's output rows; with has_residual,
 * h = (residual + rms_norm(x) * residual_gain) * residual_scale is computed and stored, and replaces x; with
 * has_norm, the rows are then normalised with norm_gain; with has_clip, a weight takes them clamped,
 * min(max(x, low), high), where NaN stays NaN.
 * Epilogue: LinearEpilogue.
 *
 * Bindings: x; residual, residual gain, h (absent unless has_residual); norm gain (absent unless has_norm); epilogue
 * operand (absent unless kLinearGegluMul); then per weight: weight, scales, biases; then the outputs: one per weight, or
 * one in all for the geglu epilogues.
 */
struct LinearParams {
  uint32_t row_set;
  uint32_t gathers;       ///< 1: row r is row output_row[r] of x and of the residual
  uint32_t in;            ///< columns of every weight
  uint32_t weights;       ///< 1 to 3
  uint32_t is_fast;       ///< 1: 8-bit activations for affine weights where the backend has them
  uint32_t has_few_rows;  ///< 1: kernels for a few rows; all rows of a program use the same kernels
  uint32_t x_stride;
  uint32_t has_residual;
  uint32_t residual_stride;
  uint32_t h_stride;
  uint32_t residual_gain_type;  ///< ScalarType
  uint32_t has_norm;
  uint32_t norm_gain_type;  ///< ScalarType
  uint32_t epilogue;        ///< LinearEpilogue
  uint32_t operand_stride;  ///< of the epilogue operand
  float eps;                ///< of both norms
  float residual_scale;     ///< layer_scalar of the layer before; 1 = none
  float cap;                ///< of kLinearSoftcap
  LinearWeightParams weight[3];
};
static_assert(sizeof(LinearParams) == 204, "host and kernel disagree on LinearParams");
