import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain } from '../../conformance/storage.js';
import type { FloatType } from '../../src/index.js';

/** Chosen experts and their shares, row by row. */
export interface RoutingOracle {
  readonly experts: number[][];
  readonly shares: number[][];
}

/** The topK largest of a softmax over all experts, divided by their sum, times the expert's scale; in float64. */
export function routeOracle(
  logits: ArrayLike<number>,
  perExpertScale: ArrayLike<number>,
  { topK, scale }: { topK: number; scale: number },
): RoutingOracle {
  const experts: number[][] = [];
  const shares: number[][] = [];
  const count = perExpertScale.length;
  for (let begin = 0; begin < logits.length; begin += count) {
    const row = Array.from({ length: count }, (_, e) => Math.fround(scale) * logits[begin + e]!);
    const largest = Math.max(...row);
    const powers = row.map((logit) => Math.exp(logit - largest));
    const sum = powers.reduce((a, b) => a + b, 0);
    // A stable sort: among equal experts, the lower number comes first.
    const chosen = [...row.keys()].sort((a, b) => row[b]! - row[a]!).slice(0, topK);
    const chosenSum = chosen.reduce((total, e) => total + powers[e]! / sum, 0);
    experts.push(chosen);
    shares.push(chosen.map((e) => (powers[e]! / sum / chosenSum) * perExpertScale[e]!));
  }
  return { experts, shares };
}

interface RouteCase {
  readonly title?: string;
  readonly rows: number;
  readonly experts: number;
  readonly topK: number;
  readonly scale?: number;
  readonly dtype?: FloatType;
  readonly logits?: Float32Array;
}

function routeCase(options: RouteCase): ConformanceCase {
  const { rows, experts, topK, scale = 1, dtype = 'BF16', title = '' } = options;
  const logits = options.logits ?? normalArray(201, rows * experts, 2);
  const perExpertScale = gain(202, experts, dtype);
  return {
    name: `${topK} of ${experts}, rows=${rows}${title && ` ${title}`}`,
    rows: { count: rows },
    inputs: { logits: { rows: 'T', width: experts, data: logits } },
    outputs: ['experts', 'shares'],
    record(ops, device) {
      const values = ops.input('logits', 'T', { axis: 'E', size: experts });
      const routing = ops.moeRoute(values, perExpertScale.upload<'E'>(device), { topK, scale });
      ops.output('experts', routing.experts);
      ops.output('shares', routing.shares);
    },
    oracle() {
      const expected = routeOracle(logits, perExpertScale.values, { topK, scale });
      return { experts: expected.experts.flat(), shares: expected.shares.flat() };
    },
    // An exponential, accurate to 1.2e-7, of a difference that is rounded once, then a sum, a quotient and a product.
    tolerance: { absolute: 1e-9, relative: 2e-6 },
  };
}

/** Logits with many equal values. */
function tiedLogits(rows: number, experts: number): Float32Array {
  return normalArray(203, rows * experts, 2).map(Math.round);
}

export const moeRoute: ConformanceFamily = {
  name: 'moe_route',
  cases: [
    ...ROW_COUNTS.map((rows) => routeCase({ rows, experts: 128, topK: 8, scale: 2816 ** -0.5 })),
    routeCase({ rows: 7, experts: 8, topK: 2, scale: 0.125 }),
    routeCase({ rows: 3, experts: 33, topK: 33, dtype: 'F32' }),
    routeCase({ rows: 3, experts: 17, topK: 1, dtype: 'F16' }),
    routeCase({ rows: 2, experts: 1, topK: 1 }),
    routeCase({ rows: 7, experts: 128, topK: 8, logits: tiedLogits(7, 128), title: 'with ties' }),
    routeCase({ rows: 2, experts: 32, topK: 4, logits: new Float32Array(64), title: 'all equal' }),
    routeCase({
      rows: 2,
      experts: 16,
      topK: 3,
      logits: normalArray(204, 32, 60),
      title: 'far apart',
    }),
  ],
};
