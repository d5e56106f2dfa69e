import { testCache } from '../../conformance/cache.js';
import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { encode, roundTo } from '../../conformance/storage.js';
import { BLOCK_TOKENS, type FloatType } from '../../src/index.js';

interface KvCopyCase {
  readonly rows: number;
  readonly kvHeads: number;
  readonly width: number;
  readonly dtype: Extract<FloatType, 'F32' | 'BF16'>;
  readonly first: number;
  readonly capacity: number;
}

const SLOTS = 3;

/**
 * Rows of slot 2 copy from blocks of slots 0, 1 and 2, and from one that does not exist; with a window of one position,
 * attention shows the contents.
 */
function kvCopyCase(options: KvCopyCase): ConformanceCase {
  const { rows, kvHeads, width, dtype, first, capacity } = options;
  const rowWidth = kvHeads * width;
  const slotBlocks = Math.ceil(capacity / BLOCK_TOKENS);
  const stored = normalArray(311, SLOTS * slotBlocks * BLOCK_TOKENS * rowWidth).map((x) => roundTo(dtype, x));
  const positions = Int32Array.from({ length: rows }, (_, row) => first + row);
  const ownBlock = (slot: number, row: number) =>
    slot * slotBlocks + (Math.floor(positions[row]! / BLOCK_TOKENS) % slotBlocks);
  const sources = Float32Array.from({ length: rows }, (_, row) =>
    row % 4 < SLOTS ? ownBlock(row % 4, row) : SLOTS * slotBlocks,
  );
  return {
    name: JSON.stringify(options),
    rows: { count: rows, positions, slots: new Int32Array(rows).fill(2) },
    inputs: {
      source: { rows: 'T', width: 1, data: sources },
      q: { rows: 'T', width: rowWidth, data: normalArray(312, rows * rowWidth) },
    },
    record(ops, device) {
      const shape = { kvHeadCount: kvHeads, headWidth: width, windowTokens: 1, dtype };
      const cache = testCache(device, shape, SLOTS, capacity, encode(dtype, stored));
      ops.copyKv(cache, ops.input('source', 'T', { axis: 'X', size: 1 }));
      const q = ops.input('q', 'T', { axis: 'HK', size: rowWidth });
      ops.output('y', ops.attention(q, cache, { heads: kvHeads }));
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * rowWidth }, (_, i) => {
        const row = Math.floor(i / rowWidth);
        const block = row % 4 < SLOTS ? sources[row]! : ownBlock(2, row);
        return stored[(block * BLOCK_TOKENS + (positions[row]! % BLOCK_TOKENS)) * rowWidth + (i % rowWidth)]!;
      }),
    }),
    tolerance: { absolute: 0, relative: 0 },
  };
}

export const kvCopy: ConformanceFamily = {
  name: 'kv_copy',
  cases: (['F32', 'BF16'] as const).flatMap((dtype) => [
    kvCopyCase({ rows: 1, kvHeads: 1, width: 256, dtype, first: 0, capacity: 32 }),
    kvCopyCase({ rows: 7, kvHeads: 2, width: 512, dtype, first: 29, capacity: 64 }),
    kvCopyCase({ rows: 33, kvHeads: 3, width: 10, dtype, first: 1000, capacity: 33 }),
  ]),
};
