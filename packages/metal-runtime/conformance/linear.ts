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

/** Bounds that some numbers of rows and products exceed. */
const CLIPS = [
  { input: { low: -1, high: 0.75 }, output: { low: -0.5, high: 1 } },
  { input: { low: -0.5, high: 2 }, output: { low: -2, high: 0.25 } },
  { input: { low: Number.NEGATIVE_INFINITY, high: 1 }, output: { low: -1, high: Number.POSITIVE_INFINITY } },
];

/** The same rows for all weights. */
const ALIKE = CLIPS.map(({ output }) => ({ input: { low: -0.6, high: 0.7 }, output }));

/** A norm, then linears that each clamp their rows and their products: one command. */
function clippedCase(
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
const WIDE = [q(246, 140, 128, 4), q(247, 130, 128, 4), q(248, 5, 128, 4)];
const WIDE_PAIR = [q(249, 150, 128, 4), q(250, 150, 128, 4)];
const PAIR = [q(85, 130, 1536, 4), q(86, 130, 1536, 4)];
const SMALL = plainMatrix(87, 67, 256, 'BF16');

const STREAM = [q(300, 300, 768, 4), q(301, 40, 768, 4), q(302, 3, 768, 4)];
const STREAM_PAIR = [q(303, 290, 1024, 4), q(304, 290, 1024, 4)];
const TALL_PAIR = [q(251, 75, 192, 4), q(252, 75, 192, 4)];
const TALL_UNLIKE = [q(253, 70, 256, 4), q(254, 70, 256, 8)];
const DEEP_PAIR = [q(255, 30, 1536, 4), q(256, 30, 1536, 4)];

/** A router of a mixture, whose products stay exact in `fast` too: with a norm, or plainly. */
function routerCase(rows: number, weight: StoredMatrix, hasNorm: boolean): ConformanceCase {
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
      ops.output('y', ops.linear(row, weight.upload<'F', 'D'>(device), { isExact: true }));
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

/** One product, scaled, normalised in groups and added: the per-layer projection, which a backend may do at once. */
function groupedNormCase(
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
      clippedCase(rows, SHARED, false),
      clippedCase(rows, PAIR, true),
      clippedCase(rows, [SMALL], false),
    ]),
    // Weights of 8 bits with few outputs, whose products NVIDIA GPUs make in float32 with kernels of their own.
    ...ROW_COUNTS.flatMap((rows) => [
      routerCase(rows, q(284, 21, 2816, 8), true),
      routerCase(rows, q(285, 20, 1056, 8, 32), false),
      fusedCase({
        title: 'q8',
        rows,
        weights: [q(286, 19, 1536, 8)],
        epilogue: 'softcap',
        hasResidual: true,
      }),
    ]),
    groupedNormCase('q4', 9, q(218, 9 * 48, 256, 4), true),
    groupedNormCase('bf16', 8, plainMatrix(219, 8 * 33, 96, 'BF16'), false),
    // Tiles of many rows, and grouped norms, of every format.
    ...([2, 3, 5, 6] as const).map((bits, i) => linearCase(`q${bits}g32`, 13, q(220 + i, 21, 64, bits, 32))),
    ...([2, 3, 4, 5, 6, 8] as const).map((bits, i) =>
      groupedNormCase(`q${bits}`, 8, q(230 + i, 8 * 17, 64, bits, 32), true),
    ),
    groupedNormCase('f16', 8, plainMatrix(236, 8 * 17, 64, 'F16'), true),
    groupedNormCase('f32', 8, plainMatrix(237, 8 * 17, 64, 'F32'), true),
    // More outputs than the widest tile has, for rows that fill one and for fewer.
    ...[13, 35].flatMap((rows) => [
      fusedCase({ title: 'wide, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'wide q4', rows, weights: WIDE_PAIR, epilogue: 'geglu' }),
    ]),
    ...([2, 3, 5, 6, 8] as const).map((bits, i) =>
      linearCase(`wide q${bits}`, 35, q(240 + i, 150, 128, bits)),
    ),
    linearCase('wide bf16', 35, plainMatrix(245, 150, 128, 'BF16')),
    // More rows than the smallest tile of many rows has, and than the largest one; an odd number of groups; columns that
    // threadgroups share.
    ...[33, 65, 129].flatMap((rows) => [
      ...([2, 4, 6, 8] as const).map((bits, i) =>
        linearCase(`tall q${bits}`, rows, q(260 + i, 200, 192, bits)),
      ),
      linearCase('tall q4g128', rows, q(264, 130, 384, 4, 128)),
      linearCase('tall bf16', rows, plainMatrix(265, 150, 192, 'BF16')),
      fusedCase({ title: 'tall, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'tall', rows, weights: TALL_PAIR, epilogue: 'geglu', hasResidual: true }),
      fusedCase({ title: 'tall, unlike', rows, weights: TALL_UNLIKE, epilogue: 'geglu' }),
      fusedCase({ title: 'tall', rows, weights: [q(266, 140, 128, 6)], epilogue: 'softcap' }),
    ]),
    // Rows of the kernels for few rows on tensor cores, which fill one and go beyond it.
    ...[9, 16, 17, 31].flatMap((rows) => [
      ...([2, 4, 6, 8] as const).map((bits, i) =>
        linearCase(`few q${bits}`, rows, q(290 + i, 50, 320, bits)),
      ),
      linearCase('few bf16', rows, plainMatrix(294, 50, 320, 'BF16')),
      fusedCase({ title: 'few, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'few', rows, weights: DEEP_PAIR, epilogue: 'geglu', hasResidual: true }),
    ]),
    // So many outputs that simdgroups have blocks of their own.
    ...[1, 5].flatMap((rows) => [
      linearCase('each q8', rows, q(295, 2100, 256, 8)),
      fusedCase({
        title: 'each q8',
        rows,
        weights: [q(296, 1000, 256, 8), q(297, 1000, 256, 8)],
        epilogue: 'geglu',
        hasResidual: true,
      }),
    ]),
    // Weights that come to a multiprocessor in a stream: some groups of tiles, few outputs, wide rows, rows that fill a kernel's.
    ...[1, 3, 4, 7, 11, 16].flatMap((rows) => [
      linearCase('stream', rows, q(298, 530, 512, 4)),
      fusedCase({ title: 'stream', rows, weights: STREAM, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'stream', rows, weights: STREAM_PAIR, epilogue: 'geglu', hasResidual: true }),
    ]),
    ...[1, 2, 9].map((rows) => linearCase('stream', rows, q(299, 41, 4352, 4))),
    linearCase('deep q4', 33, q(267, 50, 2048, 4)),
    linearCase('deep q6', 33, q(268, 50, 1600, 6)),
    fusedCase({ title: 'deep', rows: 33, weights: DEEP_PAIR, epilogue: 'geglu' }),
    fusedCase({ title: 'deep', rows: 33, weights: [q(269, 50, 1536, 8)], epilogue: 'gegluMul' }),
    clippedCase(33, [q(270, 50, 1536, 4), q(271, 35, 1536, 4), q(272, 20, 1536, 4)], false),
    ...[33, 70].flatMap((rows) => [
      clippedCase(
        rows,
        [273, 274, 275].map((seed) => plainMatrix(seed, 40, 192, 'BF16')),
        false,
        ALIKE,
      ),
      clippedCase(
        rows,
        [276, 277].map((seed) => plainMatrix(seed, 90, 192, 'BF16')),
        true,
        ALIKE,
      ),
    ]),
    // Rows that end within a span.
    ...[80, 208, 4304].map((columns) => linearCase('bf16', 41, plainMatrix(281, 70, columns, 'BF16'))),
    fusedCase({
      title: 'bf16',
      rows: 37,
      weights: [282, 283].map((seed) => plainMatrix(seed, 50, 336, 'BF16')),
      epilogue: 'geglu',
      hasResidual: true,
    }),
    // Rows of which a thread has more than two fours of columns.
    fusedCase({
      title: 'long',
      rows: 33,
      weights: [q(284, 20, 3136, 4)],
      epilogue: 'store',
      hasResidual: true,
    }),
    clippedCase(34, [q(278, 70, 192, 4), plainMatrix(279, 70, 192, 'BF16')], true, ALIKE),
    clippedCase(35, [plainMatrix(280, 70, 192, 'BF16')], false),
    // Widths of the large towers, which no group divides.
    linearCase('bf16', 13, plainMatrix(215, 70, 4304, 'BF16')),
    linearCase('f16', 13, plainMatrix(216, 70, 1155, 'F16')),
    linearCase('f32', 13, plainMatrix(217, 70, 529, 'F32')),
  ],
};
