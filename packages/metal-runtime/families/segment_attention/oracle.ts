import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { encode, gain, roundTo } from '../../conformance/storage.js';
import type { Device, Ops } from '../../src/index.js';
import { rmsNormOracle } from '../rms_norm/oracle.js';
import { ropeOracle } from '../rope/oracle.js';
import { inverseFrequencies, ropeTableOracle } from '../rope_table/oracle.js';

const EPS = 1e-6;
const AXES = 2;

interface SegmentCase {
  readonly title: string;
  /** Rows of each segment; the data of a segment only depends on its index in the list of seeds. */
  readonly segments: readonly { readonly seed: number; readonly length: number }[];
  readonly heads: number;
  readonly kvHeads?: number;
  readonly width: number;
  /** With head norms and axial rotation first. */
  readonly isPrepared?: boolean;
  readonly equivalents?: ConformanceCase['equivalents'];
}

interface Data {
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
  readonly table: Float32Array;
}

function segmentCase(options: SegmentCase): ConformanceCase {
  const { title, segments, heads, kvHeads = heads, width, isPrepared = false, equivalents } = options;
  const rows = segments.reduce((sum, { length }) => sum + length, 0);
  const fill = (salt: number, rowWidth: number, scale: number) =>
    concatenate(segments.map(({ seed, length }) => normalArray(seed * 31 + salt, length * rowWidth, scale)));
  // Scores have a standard deviation of about 2: several rows matter, none dominates.
  const data: Data = {
    q: fill(1, heads * width, isPrepared ? 1 : 2 / Math.sqrt(width)),
    k: fill(2, kvHeads * width, 1),
    v: fill(3, kvHeads * width, 1),
    table: axialTable(segments, width),
  };
  const qGain = {
    values: gain(93, width, 'BF16').values.map((x) => roundTo('BF16', (2 * x) / Math.sqrt(width))),
  };
  const kGain = gain(94, width, 'F32');
  const per = (row: (length: number, index: number) => number) =>
    Int32Array.from(segments.flatMap(({ length }) => Array.from({ length }, (_, i) => row(length, i))));

  const record = (ops: Ops, device: Device) => {
    const q = ops.input('q', 'T', { axis: 'HK', size: heads * width });
    const k = ops.input('k', 'T', { axis: 'GK', size: kvHeads * width });
    const v = ops.input('v', 'T', { axis: 'GK', size: kvHeads * width });
    const attend = { heads, kvHeads };
    if (!isPrepared) return ops.output('y', ops.segmentAttention(q, k, v, attend));
    const table = ops.input('table', 'T', { axis: 'K', size: width });
    const vector = (values: Float64Array, dtype: 'BF16' | 'F32') =>
      ({ length: width, dtype, data: device.upload(encode(dtype, values), 'gain') }) as const;
    const query = ops.rmsNormHeads(q, vector(qGain.values, 'BF16'), { eps: EPS, heads });
    const key = ops.rmsNormHeads(k, vector(kGain.values, 'F32'), { eps: EPS, heads: kvHeads });
    const value = ops.rmsNormHeads(v, null, { eps: EPS, heads: kvHeads });
    const turned = ops.rope(query, table, { heads, axes: AXES });
    const turnedKey = ops.rope(key, table, { heads: kvHeads, axes: AXES });
    ops.output('y', ops.segmentAttention(turned, turnedKey, value, attend));
  };

  const prepare = (
    raw: Float32Array,
    row: number,
    head: number,
    count: number,
    gains: Float64Array | null,
  ) => {
    const begin = (row * count + head) * width;
    const vector = raw.subarray(begin, begin + width);
    if (!isPrepared) return Float64Array.from(vector);
    const normed = rmsNormOracle(vector, gains, EPS);
    return gains ? rotateParts(normed, data.table.subarray(row * width, (row + 1) * width)) : normed;
  };

  const oracle = (): { y: Float64Array } => {
    const y = new Float64Array(rows * heads * width);
    let begin = 0;
    for (const { length } of segments) {
      const all = Array.from({ length }, (_, i) => begin + i);
      for (let h = 0; h < heads; h++) {
        const g = Math.floor((h * kvHeads) / heads);
        const keys = all.map((row) => prepare(data.k, row, g, kvHeads, kGain.values));
        const values = all.map((row) => prepare(data.v, row, g, kvHeads, null));
        for (const row of all) {
          const query = prepare(data.q, row, h, heads, qGain.values);
          y.set(attend(query, keys, values), (row * heads + h) * width);
        }
      }
      begin += length;
    }
    return { y };
  };

  return {
    name: `${title}: ${segments.map(({ length }) => length)} rows, ${heads}/${kvHeads} heads of ${width}`,
    rows: {
      count: rows,
      positions: per((_, index) => index),
      visibleEnd: per((length) => length - 1),
    },
    inputs: {
      q: { rows: 'T', width: heads * width, data: data.q },
      k: { rows: 'T', width: kvHeads * width, data: data.k },
      v: { rows: 'T', width: kvHeads * width, data: data.v },
      ...(isPrepared && { table: { rows: 'T', width, data: data.table } }),
    },
    record,
    oracle,
    ...(isPrepared && { fusedCommands: 1 }),
    // Scores of up to 10 are accurate to 1e-6, and so are their exponentials.
    tolerance: { absolute: 1e-5, relative: 1e-5 },
    // Scores, weights and values are rounded to 8 bits of precision.
    fastTolerance: { absolute: 3e-2, relative: 3e-2 },
    // A step contains whole segments.
    chunks: [],
    equivalents,
  };
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Angles of two coordinates, each for half of a head. */
function axialTable(segments: SegmentCase['segments'], width: number): Float32Array {
  const frequencies = inverseFrequencies(width / AXES, 100);
  const rowsOf = ({ length }: { length: number }) =>
    Array.from({ length }, (_, i) => [
      ...ropeTableOracle(i % 7, frequencies),
      ...ropeTableOracle(Math.floor(i / 7), frequencies),
    ]).flat();
  return Float32Array.from(segments.flatMap(rowsOf));
}

function rotateParts(head: Float64Array, table: Float32Array): Float64Array {
  const part = head.length / AXES;
  const turned = new Float64Array(head.length);
  for (let begin = 0; begin < head.length; begin += part) {
    turned.set(ropeOracle(head.subarray(begin, begin + part), table.subarray(begin, begin + part)), begin);
  }
  return turned;
}

/** softmax(q kᵀ) v of one query. */
function attend(query: Float64Array, keys: Float64Array[], values: Float64Array[]): Float64Array {
  const scores = keys.map((key) => key.reduce((sum, x, i) => sum + x * query[i]!, 0));
  const maximum = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - maximum));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Float64Array.from(query, (_, i) => {
    return values.reduce((sum, value, j) => sum + weights[j]! * value[i]!, 0) / total;
  });
}

const IMAGE = { seed: 5, length: 99 };
const NEIGHBOURS = [{ seed: 8, length: 7 }, IMAGE, { seed: 9, length: 300 }, { seed: 10, length: 1 }, IMAGE];
const rowsFrom = (first: number) => Array.from({ length: IMAGE.length }, (_, i) => first + i);

/**
 * Neighbours do not affect any bit, wherever the segment starts; with one head, nor does the number of rows in a block.
 */
function amongOthers(heads: number, width: number): ConformanceCase[] {
  const shape = { heads, width, isPrepared: true };
  const among = segmentCase({ title: 'among others', segments: NEIGHBOURS, ...shape });
  const equivalents = [7, 407].map((first) => ({ other: among, rows: rowsFrom(first) }));
  return [among, segmentCase({ title: 'alone', segments: [IMAGE], ...shape, equivalents })];
}

/** Numbers of rows, heads and their keys and values on both sides of stages, chunks and blocks of NVIDIA's kernels. */
const TOWER_ROWS: readonly (readonly [
  lengths: readonly number[],
  heads: number,
  kvHeads: number,
  isPrepared: boolean,
])[] = [
  [[33], 1, 1, true],
  [[1, 30, 5], 4, 2, true],
  [[4, 31], 2, 1, false],
  [[64, 63, 65], 3, 3, false],
  [[129], 2, 2, true],
  // Blocks of 128 queries on GPUs with 132 multiprocessors.
  [[20, 33, 30, 47], 66, 33, true],
];

export const segmentAttention: ConformanceFamily = {
  name: 'segment_attention',
  cases: [
    ...[1, 2, 3, 31, 32, 33, 255, 256, 257].map((length) =>
      segmentCase({ title: 'one', segments: [{ seed: length, length }], heads: 2, width: 16 }),
    ),
    // Head widths of the released towers, and widths next to the limits of a register.
    ...[2, 4, 14, 18, 64, 72, 80, 128].map((width) =>
      segmentCase({ title: 'width', segments: [{ seed: 3, length: 50 }], heads: 2, width }),
    ),
    segmentCase({ title: 'grouped', segments: [{ seed: 4, length: 40 }], heads: 6, kvHeads: 2, width: 24 }),
    segmentCase({ title: 'many tiles', segments: [{ seed: 6, length: 600 }], heads: 1, width: 64 }),
    segmentCase({
      title: 'prepared',
      segments: [{ seed: 7, length: 2 }],
      heads: 1,
      width: 8,
      isPrepared: true,
    }),
    ...[16, 64, 72].map((width) =>
      segmentCase({
        title: 'prepared',
        segments: [{ seed: 7, length: 61 }],
        heads: 4,
        width,
        isPrepared: true,
      }),
    ),
    ...amongOthers(2, 72),
    ...amongOthers(1, 64),
    ...[64, 72].flatMap((width) =>
      TOWER_ROWS.map(([lengths, heads, kvHeads, isPrepared]) =>
        segmentCase({
          title: isPrepared ? 'heads of a tower, prepared' : 'heads of a tower',
          segments: lengths.map((length, i) => ({ seed: 20 + i, length })),
          heads,
          kvHeads,
          width,
          isPrepared,
        }),
      ),
    ),
  ],
};
