import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { encode, roundTo } from '../../conformance/storage.js';
import type { FloatType } from '../../src/index.js';

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
 * Rows of slot 2 copy from slots 0, 1, 2 and 3, which does not exist; with a window of one position, attention shows
 * the contents.
 */
function kvCopyCase(options: KvCopyCase): ConformanceCase {
  const { rows, kvHeads, width, dtype, first, capacity } = options;
  const rowWidth = kvHeads * width;
  const stored = normalArray(311, SLOTS * capacity * rowWidth).map((x) => roundTo(dtype, x));
  const sources = Float32Array.from({ length: rows }, (_, row) => row % 4);
  const positions = Int32Array.from({ length: rows }, (_, row) => first + row);
  return {
    name: JSON.stringify(options),
    rows: { count: rows, positions, slots: new Int32Array(rows).fill(2) },
    inputs: {
      source: { rows: 'T', width: 1, data: sources },
      q: { rows: 'T', width: rowWidth, data: normalArray(312, rows * rowWidth) },
    },
    record(ops, device) {
      const bytes = encode(dtype, stored);
      const cache = {
        keys: device.upload(bytes, 'keys'),
        values: device.upload(bytes, 'values'),
        slotCount: SLOTS,
        capacityTokens: capacity,
        kvHeadCount: kvHeads,
        headWidth: width,
        windowTokens: 1,
        dtype,
      };
      ops.copyKv(cache, ops.input('source', 'T', { axis: 'X', size: 1 }));
      const q = ops.input('q', 'T', { axis: 'HK', size: rowWidth });
      ops.output('y', ops.attention(q, cache, { heads: kvHeads }));
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * rowWidth }, (_, i) => {
        const row = Math.floor(i / rowWidth);
        const slot = sources[row]! < SLOTS ? sources[row]! : 2;
        return stored[(slot * capacity + (positions[row]! % capacity)) * rowWidth + (i % rowWidth)]!;
      }),
    }),
    tolerance: { absolute: 0, relative: 0 },
  };
}

export const kvCopy: ConformanceFamily = {
  name: 'kv_copy',
  cases: (['F32', 'BF16'] as const).flatMap((dtype) => [
    kvCopyCase({ rows: 1, kvHeads: 1, width: 256, dtype, first: 0, capacity: 8 }),
    kvCopyCase({ rows: 7, kvHeads: 2, width: 512, dtype, first: 13, capacity: 16 }),
    kvCopyCase({ rows: 33, kvHeads: 3, width: 10, dtype, first: 1000, capacity: 33 }),
  ]),
};
