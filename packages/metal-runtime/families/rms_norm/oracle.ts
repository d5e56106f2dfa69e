import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain, type StoredVector } from '../../conformance/storage.js';
import type { Value } from '../../src/index.js';

interface RmsNormCase {
  readonly rows: number;
  readonly width: number;
  readonly heads?: number;
  readonly gain?: 'F32' | 'BF16' | 'F16' | null;
  /** y = (residual + norm) · outputScale */
  readonly outputScale?: number;
  /** Columns before and after x in the value that x is a view of. */
  readonly margin?: number;
  /** Magnitude of the numbers. */
  readonly size?: number;
  readonly eps?: number;
}

/** x · (mean(x²) + eps)^(-1/2) · gain for one vector. */
export function rmsNormOracle(
  x: ArrayLike<number>,
  vectorGain: ArrayLike<number> | null,
  eps: number,
): Float64Array {
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += x[i]! ** 2;
  const factor = 1 / Math.sqrt(squares / x.length + eps);
  return Float64Array.from(x, (value, i) => value * factor * (vectorGain?.[i] ?? 1));
}

function rmsNormCase(options: RmsNormCase): ConformanceCase {
  const {
    rows,
    width,
    heads = 1,
    gain: dtype = 'BF16',
    outputScale,
    margin = 0,
    size = 1,
    eps = 1e-6,
  } = options;
  const rowWidth = heads * width;
  const stride = rowWidth + 2 * margin;
  const x = normalArray(21, rows * stride, size);
  const residual = normalArray(22, rows * rowWidth);
  const stored: StoredVector | null = dtype && gain(23, width, dtype);
  const hasResidual = outputScale !== undefined;
  return {
    name: `${JSON.stringify(options)}`,
    rows: { count: rows },
    inputs: {
      x: { rows: 'T', width: stride, data: x },
      ...(hasResidual && { residual: { rows: 'T', width: rowWidth, data: residual } }),
    },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view: Value<'T', 'D'> = margin
        ? ops.columns(whole, { axis: 'D', begin: margin, width: rowWidth })
        : whole;
      const normed = ops.rmsNormHeads(view, stored?.upload<'D'>(device) ?? null, { eps, heads });
      if (!hasResidual) return ops.output('y', normed);
      const sum = ops.add(ops.input('residual', 'T', { axis: 'D', size: rowWidth }), normed);
      ops.output('y', ops.scale(sum, outputScale));
    },
    oracle() {
      const y = new Float64Array(rows * rowWidth);
      for (let v = 0; v < rows * heads; v++) {
        const begin = Math.floor(v / heads) * stride + margin + (v % heads) * width;
        y.set(rmsNormOracle(x.subarray(begin, begin + width), stored?.values ?? null, eps), v * width);
      }
      return { y: hasResidual ? y.map((n, i) => (residual[i]! + n) * outputScale) : y };
    },
    ...(hasResidual && stored && { fusedCommands: 1 }),
    // The sum of squares is accurate to about sqrt(width / lanes) roundings, halved by the root.
    tolerance: { absolute: 1e-6, relative: 1e-6 },
  };
}

interface PairCase {
  readonly rows: number;
  readonly width: number;
  readonly gains: readonly ['F32' | 'BF16' | 'F16', 'F32' | 'BF16' | 'F16'];
  readonly outputScale?: number;
}

/** (norm(x0) + norm(x1)) · outputScale: two consecutive norms, which a backend may fuse. */
function pairCase(options: PairCase): ConformanceCase {
  const { rows, width, gains, outputScale = 1 } = options;
  const eps = 1e-6;
  const x = [normalArray(24, rows * width), normalArray(25, rows * width)] as const;
  const stored = gains.map((dtype, i) => gain(26 + i, width, dtype));
  return {
    name: `two ${JSON.stringify(options)}`,
    rows: { count: rows },
    inputs: {
      x0: { rows: 'T', width, data: x[0] },
      x1: { rows: 'T', width, data: x[1] },
    },
    record(ops, device) {
      const inputs = ['x0', 'x1'].map((name) => ops.input(name, 'T', { axis: 'D', size: width }));
      const [n0, n1] = inputs.map((input, i) => ops.rmsNorm(input, stored[i]!.upload<'D'>(device), { eps }));
      const sum = ops.add(n0!, n1!);
      ops.output('y', outputScale === 1 ? sum : ops.scale(sum, outputScale));
    },
    oracle() {
      const y = new Float64Array(rows * width);
      for (let begin = 0; begin < y.length; begin += width) {
        const [n0, n1] = x.map((values, i) =>
          rmsNormOracle(values.subarray(begin, begin + width), stored[i]!.values, eps),
        );
        y.set(
          n0!.map((value, k) => (value + n1![k]!) * outputScale),
          begin,
        );
      }
      return { y };
    },
    fusedCommands: 2,
    tolerance: { absolute: 2e-6, relative: 1e-6 },
  };
}

export const rmsNorm: ConformanceFamily = {
  name: 'rms_norm',
  cases: [
    ...ROW_COUNTS.map((rows) => rmsNormCase({ rows, width: 1536 })),
    ...[1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257].map((width) => rmsNormCase({ rows: 2, width })),
    rmsNormCase({ rows: 3, width: 2560, gain: 'F32' }),
    rmsNormCase({ rows: 3, width: 5376, gain: 'F16' }),
    rmsNormCase({ rows: 5, width: 256, heads: 8 }),
    rmsNormCase({ rows: 5, width: 512, heads: 3, gain: null }),
    rmsNormCase({ rows: 3, width: 21, heads: 3, gain: 'F16', margin: 5 }),
    ...ROW_COUNTS.map((rows) => rmsNormCase({ rows, width: 1536, outputScale: 0.37 })),
    rmsNormCase({ rows: 7, width: 77, outputScale: 1, margin: 3 }),
    // The context of per-layer embeddings: one vector per layer.
    ...ROW_COUNTS.map((rows) => rmsNormCase({ rows, width: 256, heads: 35, outputScale: Math.SQRT1_2 })),
    rmsNormCase({ rows: 3, width: 21, heads: 3, gain: 'F16', outputScale: 0.37, margin: 5 }),
    rmsNormCase({ rows: 2, width: 2560, size: 1e4 }),
    ...ROW_COUNTS.map((rows) => pairCase({ rows, width: 2816, gains: ['BF16', 'BF16'] })),
    pairCase({ rows: 5, width: 77, gains: ['F32', 'BF16'], outputScale: 0.37 }),
    pairCase({ rows: 3, width: 512, gains: ['F16', 'F32'] }),
    pairCase({ rows: 2, width: 4097, gains: ['BF16', 'BF16'] }),
    // So small that eps decides.
    rmsNormCase({ rows: 2, width: 2560, size: 1e-4 }),
    rmsNormCase({ rows: 2, width: 64, size: 0, eps: 1e-5 }),
  ],
};
