import type { ConformanceCase } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain, type StoredMatrix } from '../../conformance/storage.js';
import type { Device, FloatType, Ops, Value } from '../../src/index.js';
import { geluOracle } from '../elementwise/oracle.js';
import { rmsNormOracle } from '../rms_norm/oracle.js';

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
  // 8-bit activations: a code is off by up to 1/254 of the largest number in its group, about 1 % of a row's size. A
  // sum of random errors stays at that, and the largest of many sums is five times as large.
  fastTolerance: { absolute: 0.06, relative: 0.02 },
};

export function linearCase(title: string, rows: number, weight: StoredMatrix, margin = 0): ConformanceCase {
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

/** Norm with residual, norm, products, epilogue: recorded separately, so that the fusions apply. */
export function fusedCase(options: FusedCase): ConformanceCase {
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
  // The operand of gegluMul is a view, like the per-layer input.
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
    // The product of two inexact factors is off by the sum of both errors, each times the other factor.
    ...(epilogue.startsWith('geglu') && { fastTolerance: { absolute: 0.2, relative: 0.05 } }),
  };
}

/** Bounds that some numbers in rows and products exceed. */
const CLIPS = [
  { input: { low: -1, high: 0.75 }, output: { low: -0.5, high: 1 } },
  { input: { low: -0.5, high: 2 }, output: { low: -2, high: 0.25 } },
  { input: { low: Number.NEGATIVE_INFINITY, high: 1 }, output: { low: -1, high: Number.POSITIVE_INFINITY } },
];

/** The same rows for all weights. */
export const ALIKE = CLIPS.map(({ output }) => ({ input: { low: -0.6, high: 0.7 }, output }));

/** A norm, then linears that each clamp their rows and their products: one command. */
export function clippedCase(
  rows: number,
  weights: readonly StoredMatrix[],
  isGated: boolean,
  clips: readonly (typeof CLIPS)[number][] = CLIPS,
): ConformanceCase {
  const { columns } = weights[0]!;
  const x = normalArray(76, rows * columns);
  const normGain = gain(77, columns, 'BF16');
  const bound = (values: Float64Array, { low, high }: { low: number; high: number }) =>
    values.map((value) => Math.min(Math.max(value, low), high));
  return {
    name: `clipped ${clips === ALIKE ? 'alike ' : ''}${weights.length}${isGated ? ' geglu' : ''} rows=${rows}`,
    rows: { count: rows },
    inputs: { x: { rows: 'T', width: columns, data: x } },
    outputs: isGated ? ['y'] : weights.map((_, i) => `y${i}`),
    fusedCommands: 1,
    record(ops, device) {
      const input = ops.input('x', 'T', { axis: 'D', size: columns });
      const normed = ops.rmsNorm(input, normGain.upload<'D'>(device), { eps: EPS });
      const products = weights.map((weight, i) => {
        const clip = clips[i]!;
        const product = ops.linear(ops.clamp(normed, clip.input), weight.upload<'F', 'D'>(device));
        return ops.clamp(product, clip.output);
      });
      if (isGated) return ops.output('y', ops.geglu(products[0]!, products[1]!));
      for (const [i, y] of products.entries()) ops.output(`y${i}`, y);
    },
    oracle() {
      const normed = new Float64Array(x.length);
      for (let begin = 0; begin < x.length; begin += columns) {
        normed.set(rmsNormOracle(x.subarray(begin, begin + columns), normGain.values, EPS), begin);
      }
      const products = weights.map((weight, i) => {
        const clip = clips[i]!;
        return bound(linearOracle(bound(normed, clip.input), weight), clip.output);
      });
      if (isGated) return { y: products[0]!.map((gate, i) => geluOracle(gate) * products[1]![i]!) };
      return Object.fromEntries(products.map((y, i) => [`y${i}`, y]));
    },
    ...TOLERANCE,
  };
}

/** A router of a mixture of experts, whose products are float32 even in `fast`: with or without a norm. */
export function routerCase(rows: number, weight: StoredMatrix, hasNorm: boolean): ConformanceCase {
  const { columns } = weight;
  const x = normalArray(78, rows * columns);
  const normGain = gain(79, columns, 'BF16');
  return {
    name: `router${hasNorm ? ' with a norm' : ''} [${rows}, ${columns}] x [${weight.rows}]`,
    rows: { count: rows },
    inputs: { x: { rows: 'T', width: columns, data: x } },
    record(ops, device) {
      const input: Value<'T', 'D'> = ops.input('x', 'T', { axis: 'D', size: columns });
      const row = hasNorm ? ops.rmsNorm(input, normGain.upload<'D'>(device), { eps: EPS }) : input;
      ops.output('y', ops.linear(row, weight.upload<'F', 'D'>(device), { precision: 'high' }));
    },
    oracle() {
      const normed = Float64Array.from(x);
      for (let begin = 0; hasNorm && begin < x.length; begin += columns) {
        normed.set(rmsNormOracle(x.subarray(begin, begin + columns), normGain.values, EPS), begin);
      }
      return { y: linearOracle(normed, weight) };
    },
    tolerance: TOLERANCE.tolerance,
    fastTolerance: TOLERANCE.tolerance,
  };
}

/** One product, scaled, normalised in groups and added: the per-layer projection, which a backend may fuse. */
export function groupedNormCase(
  title: string,
  groups: number,
  weight: StoredMatrix,
  hasGain: boolean,
): ConformanceCase {
  const width = weight.rows / groups;
  const x = normalArray(91, weight.columns);
  const residual = normalArray(92, weight.rows);
  const normGain = gain(93, width, 'BF16');
  const [scale, outputScale] = [0.25, 0.7];
  return {
    name: `${title} in ${groups} groups of ${width}${hasGain ? '' : ', no gain'}`,
    rows: { count: 1 },
    inputs: {
      x: { rows: 'T', width: weight.columns, data: x },
      residual: { rows: 'T', width: weight.rows, data: residual },
    },
    record(ops, device) {
      const rows: Value<'T', 'D'> = ops.input('x', 'T', { axis: 'D', size: weight.columns });
      const scaled = ops.scale(ops.linear(rows, weight.upload<'F', 'D'>(device)), scale);
      const vector = hasGain ? normGain.upload<'F'>(device) : null;
      const normed = ops.rmsNormHeads(scaled, vector, { eps: EPS, heads: groups });
      const sum = ops.add(ops.input('residual', 'T', { axis: 'F', size: weight.rows }), normed);
      ops.output('y', ops.scale(sum, outputScale));
    },
    oracle() {
      const products = linearOracle(x, weight).map((value) => value * scale);
      const y = new Float64Array(weight.rows);
      for (let g = 0; g < groups; g++) {
        const part = products.subarray(g * width, (g + 1) * width);
        y.set(rmsNormOracle(part, hasGain ? normGain.values : null, EPS), g * width);
      }
      return { y: y.map((value, i) => (residual[i]! + value) * outputScale) };
    },
    ...TOLERANCE,
  };
}
