import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain } from '../../conformance/storage.js';
import { routeOracle } from '../moe_route/oracle.js';

const EXPERTS = 16;

/** Σ_x share_x · y_x for rows of y [rows, topK · width]. */
export function combineOracle(y: ArrayLike<number>, shares: readonly (readonly number[])[]): Float64Array {
  const topK = shares[0]!.length;
  const width = y.length / shares.length / topK;
  return Float64Array.from({ length: shares.length * width }, (_, i) => {
    const [row, column] = [Math.floor(i / width), i % width];
    return shares[row]!.reduce((sum, share, x) => sum + share * y[(row * topK + x) * width + column]!, 0);
  });
}

function combineCase(rows: number, topK: number, width: number): ConformanceCase {
  const logits = normalArray(211, rows * EXPERTS);
  const perExpertScale = gain(212, EXPERTS, 'BF16');
  const y = normalArray(213, rows * topK * width);
  return {
    name: `${topK} of [${rows}, ${width}]`,
    rows: { count: rows },
    inputs: {
      logits: { rows: 'T', width: EXPERTS, data: logits },
      y: { rows: 'T', width: topK * width, data: y },
    },
    record(ops, device) {
      const values = ops.input('logits', 'T', { axis: 'E', size: EXPERTS });
      const routing = ops.moeRoute(values, perExpertScale.upload<'E'>(device), { topK, scale: 1 });
      ops.output('y', ops.moeCombine(ops.input('y', 'T', { axis: 'XD', size: topK * width }), routing));
    },
    oracle: () => ({
      y: combineOracle(y, routeOracle(logits, perExpertScale.values, { topK, scale: 1 }).shares),
    }),
    // Shares are accurate to 2e-6; a sum of topK terms around 1 / topK.
    tolerance: { absolute: 1e-5, relative: 2e-6 },
  };
}

export const moeCombine: ConformanceFamily = {
  name: 'moe_combine',
  cases: [
    ...ROW_COUNTS.map((rows) => combineCase(rows, 8, 2816)),
    combineCase(3, 1, 16),
    combineCase(3, 2, 17),
    combineCase(7, 16, 1),
  ],
};
