import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain as gainVector } from '../../conformance/storage.js';

interface LayerNormCase {
  readonly rows: number;
  readonly width: number;
  readonly groups?: number;
  readonly gain?: 'F32' | 'BF16' | 'F16' | null;
  readonly bias?: 'F32' | 'BF16' | 'F16' | null;
  /** Added to every number; must not reduce the accuracy of the variance. */
  readonly offset?: number;
  /** Columns before and after x in the value that x is a view of. */
  readonly margin?: number;
}

const EPS = 1e-6;

/** (x - mean) · (variance + eps)^(-1/2) · gain + bias for one vector. */
function layerNormOracle(
  x: ArrayLike<number>,
  gain: ArrayLike<number> | null,
  bias: ArrayLike<number> | null,
  eps: number,
): Float64Array {
  const values = Float64Array.from(x);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const factor = 1 / Math.sqrt(variance + eps);
  return values.map((value, i) => (value - mean) * factor * (gain?.[i] ?? 1) + (bias?.[i] ?? 0));
}

function layerNormCase(options: LayerNormCase): ConformanceCase {
  const { rows, width, groups = 1, gain = 'BF16', bias = null, offset = 0, margin = 0 } = options;
  const rowWidth = groups * width;
  const stride = rowWidth + 2 * margin;
  const x = normalArray(301, rows * stride).map((value) => value + offset);
  const [storedGain, storedBias] = [
    gain && gainVector(302, width, gain),
    bias && gainVector(303, width, bias),
  ];
  return {
    name: JSON.stringify(options),
    rows: { count: rows },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width: rowWidth }) : whole;
      const vectorBias = storedBias ? storedBias.upload<'D'>(device) : null;
      const vectorGain = storedGain ? storedGain.upload<'D'>(device) : null;
      ops.output('y', ops.layerNorm(view, vectorGain, { eps: EPS, groups, bias: vectorBias }));
    },
    oracle() {
      const y = new Float64Array(rows * rowWidth);
      for (let v = 0; v < rows * groups; v++) {
        const begin = Math.floor(v / groups) * stride + margin + (v % groups) * width;
        const vector = x.subarray(begin, begin + width);
        y.set(
          layerNormOracle(vector, storedGain?.values ?? null, storedBias?.values ?? null, EPS),
          v * width,
        );
      }
      return { y };
    },
    // An offset costs the leading digits that all numbers have in common.
    tolerance: { absolute: 2e-6 * Math.max(1, offset), relative: 1e-6 },
  };
}

export const layerNorm: ConformanceFamily = {
  name: 'layer_norm',
  cases: [
    ...ROW_COUNTS.map((rows) => layerNormCase({ rows, width: 128, groups: 16 })),
    layerNormCase({ rows: 5, width: 32, groups: 32 }),
    ...[1, 3, 4, 5, 15, 16, 17, 31, 33, 65].map((width) => layerNormCase({ rows: 2, width, gain: 'F32' })),
    // One more than a simdgroup sums.
    layerNormCase({ rows: 1, width: 1025 }),
    layerNormCase({ rows: 3, width: 6912, bias: 'BF16' }),
    layerNormCase({ rows: 3, width: 3840, gain: 'F16', bias: 'F16' }),
    layerNormCase({ rows: 3, width: 21, groups: 3, gain: null, bias: 'F32', margin: 5 }),
    layerNormCase({ rows: 2, width: 64, groups: 4, gain: null, offset: 100 }),
  ],
};
