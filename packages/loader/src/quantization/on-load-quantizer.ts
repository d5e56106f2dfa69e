import type { PlainMatrix } from '../checkpoint/stored-matrix.js';
import { type QuantizedMatrix, quantizeMatrix } from './quantize-matrix.js';

/** Groups of columns that share a scale, the largest that fits first. */
const GROUP_SIZES = [64, 32] as const;

/**
 * Quantises plain matrices while a model is loaded, in the largest groups that divide their columns. Returns null for a
 * matrix that no group size divides, which stays as it is.
 *
 * @param bits null = nothing is quantised
 */
export function onLoadQuantizer(
  bits: 4 | 8 | null,
  signal?: AbortSignal,
): ((matrix: PlainMatrix) => Promise<QuantizedMatrix | null>) | null {
  if (bits === null) return null;
  return async (matrix) => {
    const groupSize = GROUP_SIZES.find((size) => matrix.columns % size === 0);
    if (groupSize === undefined) return null;
    return quantizeMatrix(matrix, { bits, groupSize, ...(signal && { signal }) });
  };
}
