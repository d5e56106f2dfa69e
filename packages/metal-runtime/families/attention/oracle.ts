import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { affineMatrix, plainMatrix, smallFloatMatrix } from '../../conformance/storage.js';
import type { KvCache } from '../../src/index.js';
import { attentionCase, type Sequence } from './oracle-case.js';

const one = (first: number, count: number, slot = 0): Sequence => ({ seed: 7, slot, first, count });
const SMALL = { heads: 4, kvHeads: 2, width: 32 } as const;
const SLIDING = { ...SMALL, window: 100, capacity: 260, dtype: 'F32' } as const;
const PROJECTED_WIDTH = SMALL.heads * SMALL.width;
/** A projection of every format. */
const PROJECTIONS = [
  ...([2, 3, 4, 5, 6, 8] as const).map((bits) => {
    const format = { bits, groupSize: 64, scaleDtype: 'BF16' } as const;
    return [`q${bits}`, affineMatrix(94, 9, PROJECTED_WIDTH, format)] as const;
  }),
  ...(['F16', 'F32'] as const).map(
    (dtype) => [dtype.toLowerCase(), plainMatrix(94, 9, PROJECTED_WIDTH, dtype)] as const,
  ),
  ...(['mxfp4', 'mxfp8', 'nvfp4'] as const).map(
    (kind) => [kind, smallFloatMatrix(94, 9, PROJECTED_WIDTH, kind)] as const,
  ),
];
const HEADS: readonly (readonly [number, number, number])[] = [
  [8, 1, 256],
  [4, 2, 512],
  [16, 8, 256],
  [3, 3, 20],
  [2, 1, 8],
  [6, 2, 34],
  // More query heads per kv head than fit in a tile.
  [40, 1, 16],
  // Widths that are not multiples of a slab of columns, and one query head per kv head.
  [6, 3, 100],
  [2, 2, 300],
];

/** The same rows at other positions of the ring, in another slot, and between rows of other sequences. */
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

/**
 * Spans of single rows, each in its own threadgroup, and of so large a batch that one threadgroup handles a whole row.
 */
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
/** A case of wide heads. `block`: the positions that an image takes, as `Sequence` has them. */
type WideCase = readonly [
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
];
const WIDE: readonly WideCase[] = [
  ['wide heads, first positions', 8, 1, 256, null, 64, [one(0, 3)], 'prepared', [1]],
  ['wide heads', 8, 1, 256, null, 512, [one(300, 4)], 'shared', [1]],
  ['wide heads', 4, 2, 512, 70, 101, [one(1000, 6)], 'keyIsValue', [1, 2]],
  ['wide heads, 16 on one', 16, 1, 256, 33, 40, [one(62, 5)], 'prepared', [1, 3]],
  ['wide heads, a window of one', 2, 1, 512, 1, 32, [one(31, 3)], 'prepared', [1]],
  ['wide heads, one row', 8, 1, 256, null, 512, [one(300, 1)], 'prepared', []],
  ['wide heads, one row', 4, 2, 512, 70, 101, [one(1000, 1)], 'keyIsValue', []],
  ['wide heads, long context', 2, 2, 256, null, 2304, [one(2174, 4), other(0, 4, 1)], 'prepared', [2]],
  ['wide heads, long context', 1, 1, 512, null, 4500, [one(4400, 2), other(700, 2, 1)], 'plain', [2]],
  ['wide heads, long window', 2, 1, 256, 2300, 2310, [one(9000, 3)], 'shared', [1]],
  [
    'wide heads, more rows than one span each',
    2,
    1,
    256,
    null,
    512,
    [one(300, 10), other(40, 8, 1)],
    'prepared',
    [],
  ],
];

/**
 * Wide heads of many rows: windows, rings that wrap around, images, several slots, heads that do not fit in a block of
 * queries.
 */
const WIDE_MANY: readonly WideCase[] = [
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
    // A linear after a single row combines its spans: 5 of one partition, 10 of two, 5 or 6 of a window, 16 of four.
    ...(
      [
        [1200, null, 33],
        [4900, null, 33],
        [9000, 1100, 5],
        [16_380, null, 70],
      ] as const
    ).map(([first, window, outputs]) =>
      attentionCase({
        ...SMALL,
        title: `position ${first}${window ? ' in a window' : ''}`,
        window,
        capacity: window ? 1110 : first + 4,
        dtype: 'F32',
        projection: plainMatrix(93, outputs, PROJECTED_WIDTH, 'BF16'),
        sequences: [one(first, 4)],
      }),
    ),
    // The same linear for weights of every format.
    ...PROJECTIONS.map(([format, projection]) =>
      attentionCase({
        ...SMALL,
        title: `position 1200, ${format}`,
        window: null,
        capacity: 1204,
        dtype: 'F32',
        projection,
        sequences: [one(1200, 1)],
      }),
    ),
    // Wide heads of few rows: one span and several, a ring that wraps around, windows with arbitrary starts, and more
    // spans than one threadgroup combines, next to rows that see little.
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
        fastKernelsFor: 'few-rows',
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
      projection: plainMatrix(93, 9, 3 * 34, 'BF16'),
      sequences: [one(5000, 4)],
    }),
  ],
};
