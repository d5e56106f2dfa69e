#pragma once

/** Metal only; the including file has metal_stdlib, linear_params.h and metal_math.h. */

#pragma METAL fp contract(off)

/** Clamps a product to the bounds of its weight. */
inline float clipped(constant LinearParams& p, uint weight, float product) {
  if (p.weight[weight].has_clip == 0) return product;
  return clamped(product, p.weight[weight].output_low, p.weight[weight].output_high);
}
