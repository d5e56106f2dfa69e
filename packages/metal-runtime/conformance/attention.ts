import type { Device, KvCache, Ops, Value } from '../src/index.js';
import {
  type ConformanceCase,
  type ConformanceFamily,
  type Results,
  ROW_COUNTS,
} from './conformance-case.js';
import { projectionOf } from './projection.js';
import { normalArray } from './random.js';
import { rmsNormOracle } from './rms-norm.js';
import { inverseFrequencies, ropeOracle, ropeTableOracle } from './rope.js';
import { encode, gain, roundTo } from './storage.js';

const EPS = 1e-6;

/** Rows of one sequence: consecutive positions in one slot. Its data depends on the seed and the position alone. */
interface Sequence {
  readonly seed: number;
  readonly slot: number;
  readonly first: number;
  readonly count: number;
}

interface AttentionCase {
  readonly title: string;
  readonly heads: number;
  readonly kvHeads: number;
  readonly width: number;
  /** Null = full attention. */
  readonly window: number | null;
  readonly capacity: number;
  readonly dtype: KvCache['dtype'];
  /** Their rows take turns in the step. */
  readonly sequences: readonly Sequence[];
  /** Positions [begin, end] of images, whose rows see each other in sliding layers. */
  readonly block?: readonly [number, number];
  /**
   * `plain`: q, k, v go in as they are. `prepared`: head norms and rotation before. `keyIsValue`: v is the raw k.
   * `shared`: a second attention reads the cache with queries of its own.
   */
  readonly mode?: 'plain' | 'prepared' | 'keyIsValue' | 'shared';
  /** Outputs of a linear that reads the attention, in the place of it. */
  readonly projected?: number;
  readonly chunks?: readonly number[];
  readonly equivalents?: ConformanceCase['equivalents'];
  readonly fastRowCount?: ConformanceCase['fastRowCount'];
}

interface Row {
  readonly sequence: Sequence;
  readonly position: number;
}

/** Rows of all sequences, taking turns. */
function interleave(sequences: readonly Sequence[]): Row[] {
  const longest = Math.max(...sequences.map((sequence) => sequence.count));
  return Array.from({ length: longest }, (_, i) =>
    sequences
      .filter((sequence) => i < sequence.count)
      .map((sequence) => ({ sequence, position: sequence.first + i })),
  ).flat();
}

function fill(rows: readonly Row[], salt: number, width: number, scale: number): Float32Array {
  const data = new Float32Array(rows.length * width);
  rows.forEach(({ sequence, position }, r) => {
    data.set(normalArray(sequence.seed * 1_000_003 + position * 17 + salt, width, scale), r * width);
  });
  return data;
}

function attentionCase(options: AttentionCase): ConformanceCase {
  const { heads, kvHeads, width, window, capacity, dtype, sequences, block, mode = 'plain' } = options;
  const rows = interleave(sequences);
  const isPrepared = mode !== 'plain';
  const [queryWidth, keyWidth] = [heads * width, kvHeads * width];
  // Scores have a standard deviation of about 2: some positions matter, none alone.
  const q = fill(rows, 1, queryWidth, 2 / Math.sqrt(width));
  const sharedQ = fill(rows, 2, queryWidth, 1);
  const k = fill(rows, 3, keyWidth, 1);
  const v = fill(rows, 4, keyWidth, 1);
  const frequencies = inverseFrequencies(width, 10_000);
  const queryGain = gain(91, width, 'BF16');
  const keyGain = gain(92, width, 'BF16');
  // Normalised queries have one size; a small gain keeps their scores in the same range.
  const smallGain = {
    ...queryGain,
    values: queryGain.values.map((x) => roundTo('BF16', (2 * x) / Math.sqrt(width))),
  };
  const projection = options.projected === undefined ? null : projectionOf(options.projected, queryWidth);
  const positions = Int32Array.from(rows, (row) => row.position);
  const isInBlock = (position: number) => block && position >= block[0] && position <= block[1];
  const visibleEnd = positions.map((position) => (isInBlock(position) ? block![1] : position));

  const record = (ops: Ops, device: Device) => {
    const slotCount = Math.max(...sequences.map((sequence) => sequence.slot)) + 1;
    const bytes = slotCount * capacity * keyWidth * (dtype === 'F32' ? 4 : 2);
    const cache: KvCache = {
      keys: device.allocate(bytes, 'keys'),
      values: device.allocate(bytes, 'values'),
      slotCount,
      capacityTokens: capacity,
      kvHeadCount: kvHeads,
      headWidth: width,
      windowTokens: window,
      dtype,
    };
    const query = ops.input('q', 'T', { axis: 'HK', size: queryWidth });
    const key = ops.input('k', 'T', { axis: 'GK', size: keyWidth });
    const value = mode === 'keyIsValue' ? key : ops.input('v', 'T', { axis: 'GK', size: keyWidth });
    const output = (attended: Value<'T', 'HK'>) =>
      ops.output('y', projection ? ops.linear(attended, projection.matrix(device)) : attended);
    if (!isPrepared) {
      ops.appendKv(cache, key, value);
      return output(ops.attention(query, cache, { heads }));
    }
    const upload = (stored: typeof queryGain) => ({
      length: width,
      dtype: 'BF16' as const,
      data: device.upload(encode('BF16', stored.values), 'gain'),
    });
    const table = ops.ropeTable('T', {
      length: width / 2,
      dtype: 'F32',
      data: device.upload(encode('F32', frequencies), 'frequencies'),
    });
    const prepareQuery = (raw: Value<'T', 'HK'>) =>
      ops.rope(ops.rmsNormHeads(raw, upload(smallGain), { eps: EPS, heads }), table, { heads });
    const rotatedKey = ops.rope(ops.rmsNormHeads(key, upload(keyGain), { eps: EPS, heads: kvHeads }), table, {
      heads: kvHeads,
    });
    ops.appendKv(cache, rotatedKey, ops.rmsNormHeads(value, null, { eps: EPS, heads: kvHeads }));
    output(ops.attention(prepareQuery(query), cache, { heads }));
    if (mode !== 'shared') return;
    const other = ops.input('sharedQ', 'T', { axis: 'HK', size: queryWidth });
    ops.output('shared', ops.attention(prepareQuery(other), cache, { heads }));
  };

  /** Normalises and rotates the heads of all rows. */
  const prepare = (x: Float32Array, count: number, vectorGain: Float64Array | null, isRotated: boolean) => {
    const y = Float64Array.from(x);
    if (!isPrepared) return y;
    for (let at = 0; at < x.length; at += width) {
      const head = rmsNormOracle(x.subarray(at, at + width), vectorGain, EPS);
      const table = ropeTableOracle(positions[Math.floor(at / (count * width))]!, frequencies);
      y.set(isRotated ? ropeOracle(head, table) : head, at);
    }
    return y;
  };

  /** softmax(q kᵀ) v over the positions that each row sees; positions that were never written are zeros. */
  const attend = (queries: Float64Array, keys: Float64Array, values: Float64Array) => {
    const y = new Float64Array(rows.length * queryWidth);
    const written = new Map(rows.map(({ sequence, position }, r) => [`${sequence.slot} ${position}`, r]));
    rows.forEach(({ sequence, position }, r) => {
      const low = window === null ? 0 : Math.max(0, position - window + 1);
      const high = window === null ? position : visibleEnd[r]!;
      const sources = Array.from({ length: high - low + 1 }, (_, i) =>
        written.get(`${sequence.slot} ${low + i}`),
      );
      for (let h = 0; h < heads; h++) {
        const g = Math.floor(h / (heads / kvHeads));
        const scores = sources.map((source) => {
          let score = 0;
          for (let i = 0; source !== undefined && i < width; i++) {
            score += queries[r * queryWidth + h * width + i]! * keys[source * keyWidth + g * width + i]!;
          }
          return score;
        });
        const maximum = scores.reduce((a, b) => Math.max(a, b));
        const weights = scores.map((score) => Math.exp(score - maximum));
        const total = weights.reduce((a, b) => a + b);
        sources.forEach((source, j) => {
          for (let i = 0; source !== undefined && i < width; i++) {
            y[r * queryWidth + h * width + i]! +=
              (weights[j]! / total) * values[source * keyWidth + g * width + i]!;
          }
        });
      }
    });
    return y;
  };

  return {
    name: `${options.title}${projection ? ' projected' : ''} H${heads} G${kvHeads} K${width} ${dtype} ${mode} rows=${rows.length}`,
    rows: {
      count: rows.length,
      positions,
      slots: Int32Array.from(rows, (row) => row.sequence.slot),
      visibleEnd,
    },
    inputs: {
      q: { rows: 'T', width: queryWidth, data: q },
      k: { rows: 'T', width: keyWidth, data: k },
      ...(mode !== 'keyIsValue' && { v: { rows: 'T', width: keyWidth, data: v } }),
      ...(mode === 'shared' && { sharedQ: { rows: 'T', width: queryWidth, data: sharedQ } }),
    },
    record,
    // The rope table, and an attention that prepares.
    fusedCommands: { plain: 2, prepared: 2, keyIsValue: 2, shared: 3 }[mode] + (projection ? 1 : 0),
    outputs: mode === 'shared' ? ['y', 'shared'] : ['y'],
    oracle(): Results {
      const stored = (values: Float64Array) => values.map((value) => roundTo(dtype, value));
      const keys = stored(prepare(k, kvHeads, keyGain.values, true));
      const values = stored(prepare(mode === 'keyIsValue' ? k : v, kvHeads, null, false));
      const attended = attend(prepare(q, heads, smallGain.values, true), keys, values);
      const y = projection ? projection.oracle(attended) : attended;
      if (mode !== 'shared') return { y };
      return { y, shared: attend(prepare(sharedQ, heads, smallGain.values, true), keys, values) };
    },
    // Scores of a few units are good to some 1e-6, and so are their exponentials. What the cache rounds to bf16 after a
    // float32 norm may fall on the other side than after a float64 one.
    tolerance:
      isPrepared && dtype === 'BF16' ? { absolute: 1e-2, relative: 0 } : { absolute: 1e-5, relative: 1e-5 },
    // Queries, weights and, of float32 caches, keys and values are rounded to 8 bits of precision.
    fastTolerance: { absolute: 5e-2, relative: 3e-2 },
    fastRowCount: options.fastRowCount ?? 'many',
    chunks: options.chunks ?? (block ? [] : undefined),
    equivalents: options.equivalents,
  };
}

const one = (first: number, count: number, slot = 0): Sequence => ({ seed: 7, slot, first, count });
const SMALL = { heads: 4, kvHeads: 2, width: 32 } as const;
const SLIDING = { ...SMALL, window: 100, capacity: 260, dtype: 'F32' } as const;
const HEADS: readonly (readonly [number, number, number])[] = [
  [8, 1, 256],
  [4, 2, 512],
  [16, 8, 256],
  [3, 3, 20],
  [2, 1, 8],
  [6, 2, 34],
  // More query heads on one kv head than a tile holds.
  [40, 1, 16],
  // Widths that no slab of columns divides, and one query head on a kv head.
  [6, 3, 100],
  [2, 2, 300],
];

/** The same rows at other ring places, in another slot, and between rows of other sequences. */
function placements(dtype: KvCache['dtype']): ConformanceCase {
  const base = { ...SLIDING, dtype, sequences: [one(1000, 60)] };
  const neighbours = [
    one(1000, 60),
    { seed: 8, slot: 1, first: 0, count: 60 },
    { seed: 9, slot: 2, first: 330, count: 60 },
  ];
  return attentionCase({
    ...base,
    title: 'placement',
    equivalents: [
      { other: attentionCase({ ...base, title: 'other capacity', capacity: 333 }) },
      { other: attentionCase({ ...base, title: 'tight capacity', capacity: 159 }) },
      { other: attentionCase({ ...base, title: 'other slot', sequences: [one(1000, 60, 3)] }) },
      {
        other: attentionCase({ ...base, title: 'neighbours', sequences: neighbours }),
        rows: Array.from({ length: 60 }, (_, i) => 3 * i),
      },
    ],
  });
}

/** Spans of rows alone, each in a threadgroup of its own, and among so many rows that one goes through all of its row. */
function manyRows(): ConformanceCase {
  const base = { heads: 8, kvHeads: 8, width: 4, window: null, capacity: 4124, dtype: 'F32' } as const;
  const others = Array.from({ length: 15 }, (_, i) => ({ seed: 20 + i, slot: i + 1, first: 0, count: 4 }));
  const sequences = [one(4120, 4)];
  return attentionCase({
    ...base,
    title: 'long context',
    sequences,
    equivalents: [
      {
        other: attentionCase({ ...base, title: 'many rows', sequences: [...sequences, ...others] }),
        rows: [0, 16, 32, 48],
      },
    ],
  });
}

const other = (first: number, count: number, slot: number): Sequence => ({
  seed: 10 + slot,
  slot,
  first,
  count,
});
const WIDE: readonly (readonly [
  title: string,
  heads: number,
  kvHeads: number,
  width: number,
  window: number | null,
  capacity: number,
  sequences: readonly Sequence[],
  mode: (typeof MODES)[number] | 'plain',
  chunks: readonly number[],
])[] = [
  ['wide heads, first positions', 8, 1, 256, null, 64, [one(0, 3)], 'prepared', [1]],
  ['wide heads', 8, 1, 256, null, 512, [one(300, 4)], 'shared', [1]],
  ['wide heads', 4, 2, 512, 70, 101, [one(1000, 6)], 'keyIsValue', [1, 2]],
  ['wide heads, 16 on one', 16, 1, 256, 33, 40, [one(62, 5)], 'prepared', [1, 3]],
  ['wide heads, a window of one', 2, 1, 512, 1, 32, [one(31, 3)], 'prepared', [1]],
  ['wide heads, long context', 2, 2, 256, null, 2304, [one(2174, 4), other(0, 4, 1)], 'prepared', [2]],
  ['wide heads, long context', 1, 1, 512, null, 4500, [one(4400, 2), other(700, 2, 1)], 'plain', [2]],
  ['wide heads, long window', 2, 1, 256, 2300, 2310, [one(9000, 3)], 'shared', [1]],
];

/** Wide heads of many rows: windows, rings that wrap around, images, several slots, heads that no block of queries holds. */
const WIDE_MANY: readonly (readonly [
  title: string,
  heads: number,
  kvHeads: number,
  width: number,
  window: number | null,
  capacity: number,
  sequences: readonly Sequence[],
  mode: (typeof MODES)[number] | 'plain',
  chunks: readonly number[],
  block?: readonly [number, number],
])[] = [
  ['many rows', 8, 1, 256, null, 200, [one(100, 33)], 'prepared', [9, 16]],
  ['many rows', 4, 2, 512, null, 200, [one(70, 33)], 'keyIsValue', [9, 16]],
  ['many rows in a window', 4, 2, 256, 40, 72, [one(500, 33)], 'shared', [9, 16]],
  ['many rows in a window', 2, 1, 512, 33, 65, [one(60, 33)], 'plain', [12]],
  ['many rows of an image', 8, 1, 256, 40, 100, [one(240, 33)], 'prepared', [], [250, 268]],
  [
    'many rows of slots',
    3,
    1,
    256,
    50,
    101,
    [other(300, 12, 2), one(0, 12), other(62, 12, 1)],
    'prepared',
    [],
  ],
  ['many rows of slots', 8, 1, 512, null, 90, [one(70, 10), other(0, 10, 3)], 'prepared', []],
  ['many heads', 70, 1, 256, null, 32, [one(3, 9)], 'plain', []],
  ['many rows', 2, 1, 256, 70, 160, [one(100, 65)], 'prepared', [33]],
  ['many rows', 2, 2, 512, null, 160, [one(0, 65)], 'prepared', [33]],
  ['many rows', 2, 1, 256, 64, 300, [one(200, 129)], 'prepared', [50]],
  ['many rows', 4, 2, 256, null, 129, [one(0, 129)], 'keyIsValue', []],
];

const MODES = ['prepared', 'keyIsValue', 'shared'] as const;

export const attention: ConformanceFamily = {
  name: 'attention',
  cases: [
    ...(['F32', 'BF16'] as const).flatMap((dtype) => [
      ...HEADS.map(([heads, kvHeads, width]) =>
        attentionCase({
          title: 'full',
          heads,
          kvHeads,
          width,
          window: null,
          capacity: 300,
          dtype,
          sequences: [one(250, 14)],
        }),
      ),
      ...ROW_COUNTS.map((count) =>
        attentionCase({
          ...SMALL,
          title: 'full',
          window: null,
          capacity: 1024,
          dtype,
          sequences: [one(700, count)],
        }),
      ),
      attentionCase({
        ...SMALL,
        title: 'prompt',
        window: null,
        capacity: 600,
        dtype,
        sequences: [one(0, 600)],
        chunks: [1, 64, 257],
      }),
      attentionCase({
        ...SLIDING,
        title: 'sliding prompt',
        capacity: 700,
        dtype,
        sequences: [one(0, 600)],
        chunks: [1, 64, 257],
      }),
      ...ROW_COUNTS.map((count) =>
        attentionCase({ ...SLIDING, title: 'sliding', dtype, sequences: [one(4000, count)] }),
      ),
      attentionCase({ ...SLIDING, title: 'window of one', window: 1, dtype, sequences: [one(0, 20)] }),
      attentionCase({
        ...SLIDING,
        title: 'image block',
        dtype,
        sequences: [one(240, 50)],
        block: [250, 280],
      }),
      placements(dtype),
      ...MODES.flatMap((mode) => [
        attentionCase({ ...SLIDING, title: 'sliding', dtype, mode, sequences: [one(200, 60)] }),
        attentionCase({
          title: 'full',
          heads: 8,
          kvHeads: 1,
          width: 256,
          window: null,
          capacity: 64,
          dtype,
          mode,
          sequences: [one(0, 33)],
        }),
        attentionCase({
          title: 'full',
          heads: 6,
          kvHeads: 2,
          width: 34,
          window: null,
          capacity: 64,
          dtype,
          mode,
          sequences: [one(30, 7)],
        }),
      ]),
    ]),
    manyRows(),
    // A linear behind a single row folds its spans: 5 of one partition, 10 of two, 5 or 6 of a window, 16 of four.
    ...(
      [
        [1200, null, 33],
        [4900, null, 33],
        [9000, 1100, 5],
        [16_380, null, 70],
      ] as const
    ).map(([first, window, projected]) =>
      attentionCase({
        ...SMALL,
        title: `position ${first}${window ? ' in a window' : ''}`,
        window,
        capacity: window ? 1110 : first + 4,
        dtype: 'F32',
        projected,
        sequences: [one(first, 4)],
      }),
    ),
    // Wide heads of few rows: one span and several, a ring that wraps around, windows that begin anywhere, and more spans
    // than one threadgroup folds, of rows beside others that see little.
    ...WIDE.map(([title, heads, kvHeads, width, window, capacity, sequences, mode, chunks]) =>
      attentionCase({
        title,
        heads,
        kvHeads,
        width,
        window,
        capacity,
        dtype: 'BF16',
        sequences,
        mode,
        chunks,
        fastRowCount: 'few',
      }),
    ),
    ...WIDE_MANY.map(([title, heads, kvHeads, width, window, capacity, sequences, mode, chunks, block]) =>
      attentionCase({
        title: `wide heads, ${title}`,
        heads,
        kvHeads,
        width,
        window,
        capacity,
        dtype: 'BF16',
        sequences,
        mode,
        chunks,
        block,
      }),
    ),
    attentionCase({
      heads: 3,
      kvHeads: 1,
      width: 34,
      title: 'prepared, position 5000',
      window: null,
      capacity: 5004,
      dtype: 'BF16',
      mode: 'prepared',
      projected: 9,
      sequences: [one(5000, 4)],
    }),
  ],
};
