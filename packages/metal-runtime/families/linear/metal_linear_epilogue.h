#pragma once

/** Metal only; the including file has metal_stdlib, linear_params.h, metal_math.h and metal_clip.h. */

#pragma METAL fp contract(off)

/** Applies the epilogue of a linear to a product. `up`: in a pair, the product with the second weight; `operand`: of all rows. */
inline float finish_product(
    constant LinearParams& p, uint weight, float product, float up, device const float* operand, uint row, uint output) {
  product = clipped(p, weight, product);
  if (p.epilogue == kLinearGeglu) return gelu_tanh(product) * clipped(p, 1, up);
  if (p.epilogue == kLinearGegluMul) return gelu_tanh(product) * operand[ulong(row) * p.operand_stride + output];
  return p.epilogue == kLinearSoftcap ? softcap(product, p.cap) : product;
}
