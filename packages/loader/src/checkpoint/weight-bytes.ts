import type { WeightIndex } from './weight-index.js';

/** Bytes of all tensors whose names begin with one of these modules, as they are stored. */
export function weightBytes(weights: Pick<WeightIndex, 'entries'>, modules: readonly string[]): number {
  let bytes = 0;
  for (const [name, tensor] of weights.entries()) {
    if (modules.some((module) => name.startsWith(`${module}.`))) bytes += tensor.range.sizeBytes;
  }
  return bytes;
}
