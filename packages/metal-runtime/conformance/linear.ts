import type { Device, FloatType, Ops, Value } from '../src/index.js';
import { type ConformanceCase, type ConformanceFamily, ROW_COUNTS } from './conformance-case.js';
import { geluOracle } from './elementwise.js';
import { normalArray } from './random.js';
import { rmsNormOracle } from './rms-norm.js';
import { type AffineFormat, affineMatrix, gain, plainMatrix, type StoredMatrix } from './storage.js';

const EPS = 1e-6;
const CAP = 3;

/** x Wᵀ for rows of x. */
export function linearOracle(x: ArrayLike<number>, weight: StoredMatrix): Float64Array {
  const { rows: out, columns, values } = weight;
  const y = new Float64Array((x.length / columns) * out);
  for (let r = 0; r < x.length / columns; r++) {
    for (let n = 0; n < out; n++) {
      let sum = 0;
      for (let k = 0; k < columns; k++) sum += x[r * columns + k]! * values[n * columns + k]!;
      y[r * out + n] = sum;
    }
  }
  return y;
}

/** Weights are scaled so that products are around 1. */
const TOLERANCE = {
  // A float32 sum of thousands of terms, each around 1/sqrt(in).
  tolerance: { absolute: 1e-5, relative: 2e-6 },
  // 8-bit activations: a code is off by up to 1/254 of the largest number of its group, about 1 % of a row's size; a sum
  // of random errors stays at that, and the largest of many sums is five times it.
  fastTolerance: { absolute: 0.06, relative: 0.02 },
};

function linearCase(title: string, rows: number, weight: StoredMatrix, margin = 0): ConformanceCase {
  const stride = weight.columns + 2 * margin;
  const x = normalArray(61, rows * stride);
  return {
    name: `${title} [${rows}, ${weight.columns}] x [${weight.rows}]${margin ? ' view' : ''}`,
    rows: { count: rows },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width: weight.columns }) : whole;
      ops.output('y', ops.linear(view, weight.upload<'F', 'D'>(device)));
    },
    oracle() {
      const view = Array.from({ length: rows }, (_, r) =>
        x.subarray(r * stride + margin, r * stride + margin + weight.columns),
      );
      return {
        y: linearOracle(
          view.flatMap((row) => [...row]),
          weight,
        ),
      };
    },
    ...TOLERANCE,
  };
}

interface FusedCase {
  readonly title: string;
  readonly rows: number;
  readonly weights: readonly StoredMatrix[];
  readonly epilogue: 'store' | 'geglu' | 'gegluMul' | 'softcap';
  readonly hasResidual?: boolean;
  readonly outputScale?: number;
  readonly gainDtype?: FloatType;
}

/** Norm with residual, norm, products, epilogue: recorded plainly, so that the fusions find it. */
function fusedCase(options: FusedCase): ConformanceCase {
  const {
    title,
    rows,
    weights,
    epilogue,
    hasResidual = false,
    outputScale = 1,
    gainDtype = 'BF16',
  } = options;
  const { columns, rows: out } = weights[0]!;
  const x = normalArray(71, rows * columns);
  const residual = normalArray(72, rows * columns);
  // The operand of gegluMul is a view, as the per-layer input is.
  const operandStride = 3 * out;
  const operand = normalArray(73, rows * operandStride);
  const [residualGain, normGain] = [gain(74, columns, gainDtype), gain(75, columns, gainDtype)];

  const record = (ops: Ops, device: Device) => {
    let h: Value<'T', 'D'> = ops.input('x', 'T', { axis: 'D', size: columns });
    if (hasResidual) {
      const stream = ops.input('residual', 'T', { axis: 'D', size: columns });
      h = ops.add(stream, ops.rmsNorm(h, residualGain.upload<'D'>(device), { eps: EPS }));
      if (outputScale !== 1) h = ops.scale(h, outputScale);
      ops.output('h', h);
    }
    const normed = ops.rmsNorm(h, normGain.upload<'D'>(device), { eps: EPS });
    const products = weights.map((weight) => ops.linear(normed, weight.upload<'F', 'D'>(device)));
    if (epilogue === 'store') {
      for (const [i, y] of products.entries()) ops.output(`y${i}`, y);
      return;
    }
    if (epilogue === 'geglu') return ops.output('y', ops.geglu(products[0]!, products[1]!));
    if (epilogue === 'softcap') return ops.output('y', ops.softcap(products[0]!, CAP));
    const all = ops.input('operand', 'T', { axis: 'F', size: operandStride });
    ops.output('y', ops.geglu(products[0]!, ops.columns(all, { axis: 'F', begin: out, width: out })));
  };

  const oracle = () => {
    const perRow = (values: ArrayLike<number>, width: number, f: (row: Float64Array) => Float64Array) => {
      const all = Float64Array.from(values);
      const y = new Float64Array(all.length);
      for (let r = 0; r < rows; r++) y.set(f(all.subarray(r * width, (r + 1) * width)), r * width);
      return y;
    };
    let h = Float64Array.from(x);
    if (hasResidual) {
      h = perRow(h, columns, (row) => rmsNormOracle(row, residualGain.values, EPS)).map(
        (n, i) => (residual[i]! + n) * outputScale,
      );
    }
    const normed = perRow(h, columns, (row) => rmsNormOracle(row, normGain.values, EPS));
    const products = weights.map((weight) => linearOracle(normed, weight));
    const results: Record<string, Float64Array> = hasResidual ? { h } : {};
    if (epilogue === 'store') for (const [i, y] of products.entries()) results[`y${i}`] = y;
    if (epilogue === 'geglu') results.y = products[0]!.map((gate, i) => geluOracle(gate) * products[1]![i]!);
    if (epilogue === 'softcap') results.y = products[0]!.map((y) => CAP * Math.tanh(y / CAP));
    if (epilogue === 'gegluMul') {
      results.y = products[0]!.map((gate, i) => {
        return geluOracle(gate) * operand[Math.floor(i / out) * operandStride + out + (i % out)]!;
      });
    }
    return results;
  };

  return {
    name: `${title} ${epilogue}${hasResidual ? ' residual' : ''} rows=${rows}`,
    rows: { count: rows },
    inputs: {
      x: { rows: 'T', width: columns, data: x },
      ...(hasResidual && { residual: { rows: 'T', width: columns, data: residual } }),
      ...(epilogue === 'gegluMul' && { operand: { rows: 'T', width: operandStride, data: operand } }),
    },
    outputs: [
      ...(hasResidual ? ['h'] : []),
      ...(epilogue === 'store' ? weights.map((_, i) => `y${i}`) : ['y']),
    ],
    fusedCommands: 1,
    record,
    oracle,
    ...TOLERANCE,
    // The products of two inexact factors are off by the sum of both errors, times the other factor.
    ...(epilogue.startsWith('geglu') && { fastTolerance: { absolute: 0.2, relative: 0.05 } }),
  };
}

const q = (
  seed: number,
  out: number,
  columns: number,
  bits: AffineFormat['bits'],
  groupSize: 32 | 64 | 128 = 64,
) => affineMatrix(seed, out, columns, { bits, groupSize, scaleDtype: 'BF16' });

const FORMATS = ([2, 3, 4, 5, 6, 8] as const).flatMap((bits) =>
  ([32, 64, 128] as const).map((groupSize) => ({ bits, groupSize })),
);

const Q4 = q(81, 70, 1536, 4);
const SHARED = [q(82, 96, 1536, 4), q(83, 33, 1536, 8), q(84, 40, 1536, 4)];
const PAIR = [q(85, 130, 1536, 4), q(86, 130, 1536, 4)];
const SMALL = plainMatrix(87, 67, 256, 'BF16');

export const linear: ConformanceFamily = {
  name: 'linear',
  cases: [
    ...FORMATS.flatMap((format, i) =>
      (['BF16', 'F16', 'F32'] as const).map((scaleDtype, j) => {
        const weight = affineMatrix(100 + 3 * i + j, 21, 256, { ...format, scaleDtype });
        return linearCase(`q${format.bits}g${format.groupSize} ${scaleDtype}`, 3, weight);
      }),
    ),
    ...(['F32', 'BF16', 'F16'] as const).flatMap((dtype, i) =>
      [1, 7, 16, 33, 256].map((columns) => linearCase(dtype, 3, plainMatrix(200 + i, 19, columns, dtype))),
    ),
    ...ROW_COUNTS.map((rows) => linearCase('q4g64', rows, Q4)),
    ...ROW_COUNTS.map((rows) => linearCase('bf16', rows, plainMatrix(210, 35, 2560, 'BF16'))),
    ...ROW_COUNTS.map((rows) => linearCase('q8g32', rows, q(211, 35, 5376, 8, 32))),
    linearCase('one output', 2, q(212, 1, 128, 4)),
    linearCase('many outputs', 2, q(213, 2051, 128, 4)),
    linearCase('view', 5, q(214, 50, 128, 5), 7),
    ...ROW_COUNTS.flatMap((rows) => [
      fusedCase({ title: 'three weights', rows, weights: SHARED, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'q4', rows, weights: PAIR, epilogue: 'geglu', hasResidual: true, outputScale: 0.4 }),
      fusedCase({ title: 'bf16', rows, weights: [SMALL], epilogue: 'gegluMul', gainDtype: 'F32' }),
      fusedCase({ title: 'q4', rows, weights: [Q4], epilogue: 'softcap', gainDtype: 'F16' }),
    ]),
  ],
};
