import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import {
  type AffineFormat,
  affineMatrix,
  gain,
  plainMatrix,
  type StoredMatrix,
  smallFloatMatrix,
} from '../../conformance/storage.js';
import type { Axis, Device, ExpertMatrix, Ops, Routing, Value } from '../../src/index.js';
import { geluOracle } from '../elementwise/oracle.js';
import { linearOracle } from '../linear/oracle-case.js';
import { combineOracle } from '../moe_combine/oracle.js';
import { type RoutingOracle, routeOracle } from '../moe_route/oracle.js';
import { rmsNormOracle } from '../rms_norm/oracle.js';

const EPS = 1e-6;

/** How a matrix of experts is stored; each expert's rows come after `fusedWith` rows of another matrix. */
interface ExpertStorage {
  readonly experts: number;
  readonly out: number;
  readonly columns: number;
  readonly fusedWith?: number;
  readonly store: (rows: number, columns: number) => StoredMatrix;
}

/** The matrices of all experts: as stored, and those of one expert. */
interface ExpertCase {
  upload<Out extends Axis, In extends Axis>(device: Device): ExpertMatrix<Out, In>;
  of(expert: number): StoredMatrix;
}

function expertMatrix({ experts, out, columns, fusedWith = 0, store }: ExpertStorage): ExpertCase {
  const rowsPerExpert = fusedWith + out;
  const stored = store(experts * rowsPerExpert, columns);
  return {
    upload<Out extends Axis, In extends Axis>(device: Device): ExpertMatrix<Out, In> {
      const shape = { expertCount: experts, rows: out, columns, rowsPerExpert, firstRow: fusedWith };
      return { ...shape, stored: stored.upload<Axis, In>(device) };
    },
    of(expert) {
      const begin = (expert * rowsPerExpert + fusedWith) * columns;
      return { ...stored, rows: out, values: stored.values.subarray(begin, begin + out * columns) };
    },
  };
}

/** x W_eᵀ for the chosen experts of each row; `x` is one row for all of them, or a slice for each. */
function moeLinearOracle(x: ArrayLike<number>, weight: ExpertCase, { experts }: RoutingOracle): Float64Array {
  const { columns } = weight.of(0);
  const all = Float64Array.from(x);
  const width = all.length / experts.length;
  return Float64Array.from(
    experts.flatMap((chosen, row) =>
      chosen.flatMap((expert, slot) => {
        const begin = row * width + (width === columns ? 0 : slot * columns);
        return [...linearOracle(all.subarray(begin, begin + columns), weight.of(expert))];
      }),
    ),
  );
}

/** Logits that send rows to experts according to `skew`. */
function skewedLogits(skew: Skew, rows: number, experts: number): Float32Array {
  const logits = normalArray(221, rows * experts);
  return logits.map((logit, i) => {
    const expert = i % experts;
    if (skew === 'tied') return 0;
    // Every row chooses the first experts; the rest get no rows.
    if (skew === 'one' && expert < experts / 4) return 8 - expert;
    return logit;
  });
}

type Skew = 'even' | 'one' | 'tied';

interface MoeCase {
  readonly title: string;
  readonly rows: number;
  readonly experts: number;
  readonly topK: number;
  readonly skew?: Skew;
  readonly margin?: number;
  readonly fastKernelsFor?: ConformanceCase['fastKernelsFor'];
}

interface SetUp extends MoeCase {
  /** Width of x, without its margins. */
  readonly width: number;
  readonly body: (ops: Ops, x: Value<'T', Axis>, routing: Routing<'T'>, device: Device) => Value<'T', Axis>;
  readonly expected: (x: Float64Array, routing: RoutingOracle) => Float64Array;
  readonly absolute?: number;
  readonly fastAbsolute?: number;
  readonly fusedCommands: number;
}

/** Rows, routing and views around the tested operation. */
function moeCase(setUp: SetUp): ConformanceCase {
  const { title, rows, experts, topK, skew = 'even', margin = 0, width } = setUp;
  const stride = width + 2 * margin;
  const x = normalArray(222, rows * stride);
  const logits = skewedLogits(skew, rows, experts);
  const perExpertScale = gain(223, experts, 'BF16');
  const routingOptions = { topK, scale: 1 };
  return {
    name: `${title}, ${topK} of ${experts}, rows=${rows}${skew === 'even' ? '' : ` ${skew}`}${margin ? ' view' : ''}`,
    rows: { count: rows },
    inputs: {
      logits: { rows: 'T', width: experts, data: logits },
      x: { rows: 'T', width: stride, data: x },
    },
    record(ops, device) {
      const values = ops.input('logits', 'T', { axis: 'E', size: experts });
      const routing = ops.moeRoute(values, perExpertScale.upload<'E'>(device), routingOptions);
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole;
      ops.output('y', setUp.body(ops, view, routing, device));
    },
    oracle() {
      const routing = routeOracle(logits, perExpertScale.values, routingOptions);
      const view = Array.from({ length: rows }, (_, r) => [
        ...x.subarray(r * stride + margin, r * stride + margin + width),
      ]);
      return { y: setUp.expected(Float64Array.from(view.flat()), routing) };
    },
    // As for linear: float32 sums of terms around 1/sqrt(in), and 8-bit codes that are off by about 1 % of a row's
    // size.
    tolerance: { absolute: setUp.absolute ?? 1e-5, relative: 2e-6 },
    fastTolerance: { absolute: setUp.fastAbsolute ?? 0.06, relative: 0.02 },
    fusedCommands: setUp.fusedCommands,
    fastKernelsFor: setUp.fastKernelsFor,
  };
}

/** One product of rows that all chosen experts share, or of a slice for each. */
function productCase(options: MoeCase & { storage: ExpertStorage; hasSlices?: boolean }): ConformanceCase {
  const { storage, hasSlices = false, topK } = options;
  const weight = expertMatrix(storage);
  return moeCase({
    ...options,
    width: storage.columns * (hasSlices ? topK : 1),
    body: (ops, x, routing, device) => {
      const matrix = weight.upload<'F', 'D'>(device);
      return ops.moeLinear(x as Value<'T', 'D'>, matrix, routing);
    },
    expected: (x, routing) => moeLinearOracle(x, weight, routing),
    // The product chooses the experts itself.
    fusedCommands: 1,
  });
}

/** norm → gate and up → geglu, or a product and the sum over the experts, or all of it: recorded separately. */
function blockCase(
  options: MoeCase & { gate?: ExpertStorage; up?: ExpertStorage; down?: ExpertStorage },
): ConformanceCase {
  const { gate, up, down, topK } = options;
  const [gates, ups, downs] = [gate, up, down].map((storage) => (storage ? expertMatrix(storage) : null));
  const columns = gate ? gate.columns : topK * down!.columns;
  const normGain = gain(224, columns, 'BF16');
  return moeCase({
    ...options,
    width: columns,
    body: (ops, x, routing, device) => {
      let value: Value<'T', Axis> = x;
      if (gates && ups) {
        const normed = ops.rmsNorm(x as Value<'T', 'D'>, normGain.upload<'D'>(device), { eps: EPS });
        const gated = ops.moeLinear(normed, gates.upload<'F', 'D'>(device), routing);
        value = ops.geglu(gated, ops.moeLinear(normed, ups.upload<'F', 'D'>(device), routing));
      }
      if (!downs) return value;
      const outputs = ops.moeLinear(value as Value<'T', 'XF'>, downs.upload<'D', 'F'>(device), routing);
      return ops.moeCombine(outputs, routing);
    },
    expected: (x, routing) => {
      let value = x;
      if (gates && ups) {
        const rows = Array.from({ length: x.length / columns }, (_, r) =>
          rmsNormOracle(x.subarray(r * columns, (r + 1) * columns), normGain.values, EPS),
        );
        const normed = Float64Array.from(rows.flatMap((row) => [...row]));
        const second = moeLinearOracle(normed, ups, routing);
        value = moeLinearOracle(normed, gates, routing).map((g, i) => geluOracle(g) * second[i]!);
      }
      return downs ? combineOracle(moeLinearOracle(value, downs, routing), routing.shares) : value;
    },
    // The errors of gate and up multiply with the other factor, and pass through down.
    absolute: 3e-5,
    fastAbsolute: 0.2,
    // One command for gate and up, which chooses the experts, one for down and the sum; down alone follows a moe_route.
    fusedCommands: down ? 2 : 1,
  });
}

const affine =
  (seed: number, bits: AffineFormat['bits'], groupSize: AffineFormat['groupSize'] = 64) =>
  (rows: number, columns: number) =>
    affineMatrix(seed, rows, columns, { bits, groupSize, scaleDtype: 'BF16' });

const FORMATS = ([2, 3, 4, 5, 6, 8] as const).flatMap((bits) =>
  ([32, 64, 128] as const).map((groupSize) => ({ bits, groupSize })),
);

const Q4 = { experts: 8, out: 70, columns: 256, store: affine(231, 4) };
const BF16 = { ...Q4, store: (rows: number, columns: number) => plainMatrix(232, rows, columns, 'BF16') };
const DOWN = { experts: 8, out: 130, columns: 64, store: affine(233, 4) };
const ROUTE = { experts: 8, topK: 2 };
/** A whole block; up follows gate in one stored matrix, as in the Hugging Face layout. */
const FUSED = {
  gate: {
    ...BF16,
    out: 64,
    store: (rows: number, columns: number) => plainMatrix(234, rows, columns, 'BF16'),
  },
  up: {
    ...BF16,
    out: 64,
    fusedWith: 64,
    store: (rows: number, columns: number) => plainMatrix(235, rows, columns, 'BF16'),
  },
  down: { ...DOWN, store: (rows: number, columns: number) => plainMatrix(236, rows, columns, 'F16') },
};
const SPLIT = { gate: { ...Q4, out: 64 }, up: { ...Q4, out: 64, store: affine(237, 4) }, down: DOWN };
/** A block with 4-bit codes in groups of 64: `columns` to `hidden`, and to `out`. */
function blockOf(
  experts: number,
  topK: number,
  [columns, hidden, out]: readonly [number, number, number],
  seed: number,
) {
  const storage = (rows: number, width: number, place: number) => ({
    experts,
    out: rows,
    columns: width,
    store: affine(seed + place, 4),
  });
  return {
    experts,
    topK,
    gate: storage(hidden, columns, 0),
    up: storage(hidden, columns, 1),
    down: storage(out, hidden, 2),
  };
}
/** Eight out of many experts. */
const MANY = blockOf(48, 8, [192, 64, 40], 300);
/** Few experts, with odd numbers of groups and outputs. */
const FULL = blockOf(4, 2, [192, 64, 150], 306);
/** Widths of a real model. */
const REAL = blockOf(4, 2, [2816, 704, 56], 303);
const SMALL_FLOATS = ['mxfp4', 'mxfp8', 'nvfp4'] as const;
/** Gate and up need their rows in different forms. */
const MIXED = {
  ...SPLIT,
  up: { ...Q4, out: 64, store: affine(238, 8, 32) },
  down: { ...DOWN, store: affine(239, 6) },
};

export const moeLinear: ConformanceFamily = {
  name: 'moe_linear',
  cases: [
    ...FORMATS.map((format, i) =>
      productCase({
        title: `q${format.bits}g${format.groupSize}`,
        rows: 3,
        ...ROUTE,
        storage: { ...Q4, out: 21, store: affine(240 + i, format.bits, format.groupSize) },
      }),
    ),
    ...(['F32', 'F16', 'BF16'] as const).map((dtype, i) =>
      productCase({
        title: dtype,
        rows: 5,
        ...ROUTE,
        storage: {
          ...Q4,
          columns: 37,
          out: 19,
          store: (rows, columns) => plainMatrix(260 + i, rows, columns, dtype),
        },
      }),
    ),
    // Tiles of many rows.
    ...([2, 3, 5, 8] as const).map((bits, i) =>
      productCase({
        title: `q${bits}g32`,
        rows: 13,
        ...ROUTE,
        storage: { ...Q4, columns: 64, out: 21, store: affine(264 + i, bits, 32) },
      }),
    ),
    productCase({
      title: 'F32',
      rows: 13,
      ...ROUTE,
      storage: {
        ...Q4,
        columns: 37,
        out: 19,
        store: (rows, columns) => plainMatrix(268, rows, columns, 'F32'),
      },
    }),
    // 36: nine rows for each expert, which take wider tiles than eight.
    ...[...ROW_COUNTS, 36].map((rows) => productCase({ title: 'q4 shared', rows, ...ROUTE, storage: Q4 })),
    ...ROW_COUNTS.map((rows) =>
      productCase({ title: 'q4 slices', rows, ...ROUTE, storage: DOWN, hasSlices: true }),
    ),
    productCase({
      title: 'q4 of a real width',
      rows: 9,
      ...ROUTE,
      storage: { ...Q4, columns: 2816, out: 40, store: affine(270, 4) },
    }),
    productCase({
      title: 'q4 of a real width, slices',
      rows: 3,
      ...ROUTE,
      storage: { ...DOWN, columns: 704, store: affine(271, 4) },
      hasSlices: true,
    }),
    productCase({
      title: 'q4 after others',
      rows: 7,
      ...ROUTE,
      storage: { ...Q4, fusedWith: 13 },
      margin: 3,
    }),
    ...ROW_COUNTS.flatMap((rows) => [
      blockCase({ title: 'gate and up', rows, ...ROUTE, gate: SPLIT.gate, up: SPLIT.up }),
      blockCase({ title: 'down', rows, ...ROUTE, down: DOWN }),
      blockCase({ title: 'block', rows, ...ROUTE, ...SPLIT }),
      blockCase({ title: 'block skewed', rows, ...ROUTE, ...SPLIT, skew: 'one' }),
    ]),
    // Tiles of each format, with experts that fill no tile, a part of one, or more than one.
    ...([2, 3, 5, 6, 8] as const).map((bits) =>
      productCase({
        title: `q${bits} tiles`,
        rows: 9,
        ...ROUTE,
        storage: { ...Q4, out: 33, columns: 96, store: affine(280 + bits, bits, 32) },
        fastKernelsFor: 'many-rows',
      }),
    ),
    ...(['F32', 'F16', 'BF16'] as const).map((dtype, i) =>
      productCase({
        title: `${dtype} tiles`,
        rows: 9,
        ...ROUTE,
        storage: {
          ...Q4,
          columns: 37,
          store: (rows, columns) => plainMatrix(290 + i, rows, columns, dtype),
        },
        fastKernelsFor: 'many-rows',
      }),
    ),
    productCase({
      title: 'q4 tiles',
      rows: 35,
      ...ROUTE,
      storage: Q4,
      skew: 'one',
      fastKernelsFor: 'many-rows',
    }),
    blockCase({ title: 'block', rows: 9, ...ROUTE, ...SPLIT, skew: 'tied', fastKernelsFor: 'many-rows' }),
    // Many experts: some without rows, most with few. Widths with half a unit of 128 columns, and with more than one
    // per simdgroup.
    ...[1, 3, 4, 8, 9, 16, 17, 33].flatMap((rows) => [
      blockCase({ title: 'block of many', rows, ...MANY, fastKernelsFor: 'few-rows' }),
      blockCase({ title: 'block of many', rows, ...MANY, skew: 'one', fastKernelsFor: 'many-rows' }),
    ]),
    blockCase({ title: 'block of a real width', rows: 1, ...REAL }),
    blockCase({ title: 'block of a real width', rows: 5, ...REAL, fastKernelsFor: 'few-rows' }),
    blockCase({ title: 'block of a real width', rows: 33, ...REAL, fastKernelsFor: 'many-rows' }),
    // Experts with enough rows to fill some of the tiles of 64 and of 128 choices.
    ...[40, 170].flatMap((rows) => [
      blockCase({ title: 'block of full tiles', rows, ...FULL, fastKernelsFor: 'many-rows' }),
      blockCase({ title: 'block of full tiles', rows, ...FULL, skew: 'one', fastKernelsFor: 'many-rows' }),
    ]),
    blockCase({ title: 'block of fused floats', rows: 9, ...ROUTE, ...FUSED }),
    blockCase({ title: 'block of mixed widths', rows: 9, ...ROUTE, ...MIXED }),
    blockCase({ title: 'block of mixed widths', rows: 1, ...ROUTE, ...MIXED, margin: 16 }),
    ...SMALL_FLOATS.flatMap((kind, i) => {
      const store = (rows: number, columns: number) => smallFloatMatrix(360 + i, rows, columns, kind);
      const block = { gate: { ...SPLIT.gate, store }, up: { ...SPLIT.up, store }, down: { ...DOWN, store } };
      return [
        ...[1, 3, 9].map((rows) => blockCase({ title: kind, rows, ...ROUTE, ...block })),
        blockCase({ title: kind, rows: 33, ...ROUTE, ...block, fastKernelsFor: 'many-rows' }),
      ];
    }),
    blockCase({ title: 'block for all experts', rows: 5, experts: 8, topK: 8, ...SPLIT }),
  ],
};
