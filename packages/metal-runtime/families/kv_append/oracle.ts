import { testCache } from '../../conformance/cache.js';
import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { roundTo } from '../../conformance/storage.js';
import type { FloatType } from '../../src/index.js';

interface KvAppendCase {
  readonly rows: number;
  readonly kvHeads: number;
  readonly width: number;
  readonly dtype: Extract<FloatType, 'F32' | 'BF16'>;
  readonly first: number;
  readonly capacity: number;
  readonly margin?: number;
}

/** With a window of one position, attention returns the appended value as rounded by the cache. */
function kvAppendCase(options: KvAppendCase): ConformanceCase {
  const { rows, kvHeads, width, dtype, first, capacity, margin = 0 } = options;
  const rowWidth = kvHeads * width;
  const stride = rowWidth + 2 * margin;
  const v = normalArray(302, rows * stride);
  // Halfway between two bf16 numbers: to the even one, up and down; then large, small and signed zero.
  v.set([1 + 2 ** -8, 1 + 3 * 2 ** -8, -(1 + 2 ** -8), 3e38, 1e-38, -0].slice(0, rowWidth), margin);
  return {
    name: JSON.stringify(options),
    rows: {
      count: rows,
      positions: Int32Array.from({ length: rows }, (_, r) => first + Math.floor(r / 2)),
      slots: Int32Array.from({ length: rows }, (_, r) => 1 + (r % 2)),
    },
    inputs: {
      k: { rows: 'T', width: stride, data: normalArray(301, rows * stride) },
      v: { rows: 'T', width: stride, data: v },
    },
    record(ops, device) {
      const shape = { kvHeadCount: kvHeads, headWidth: width, windowTokens: 1, dtype };
      const cache = testCache(device, shape, 3, capacity);
      const operand = (name: string) => {
        const whole = ops.input(name, 'T', { axis: 'GK', size: stride });
        return margin ? ops.columns(whole, { axis: 'GK', begin: margin, width: rowWidth }) : whole;
      };
      const k = operand('k');
      ops.appendKv(cache, k, operand('v'));
      const q = ops.columns(k, { axis: 'HK', begin: 0, width: rowWidth });
      ops.output('y', ops.attention(q, cache, { heads: kvHeads }));
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * rowWidth }, (_, i) =>
        roundTo(dtype, v[Math.floor(i / rowWidth) * stride + margin + (i % rowWidth)]!),
      ),
    }),
    // Rounding to the cache's type is exact, and so is a softmax over one position.
    tolerance: { absolute: 0, relative: 0 },
  };
}

export const kvAppend: ConformanceFamily = {
  name: 'kv_append',
  cases: (['F32', 'BF16'] as const).flatMap((dtype) => [
    kvAppendCase({ rows: 1, kvHeads: 1, width: 256, dtype, first: 0, capacity: 8 }),
    kvAppendCase({ rows: 7, kvHeads: 2, width: 512, dtype, first: 3, capacity: 16 }),
    kvAppendCase({ rows: 64, kvHeads: 4, width: 64, dtype, first: 1000, capacity: 33 }),
    kvAppendCase({ rows: 7, kvHeads: 3, width: 10, dtype, first: 5, capacity: 7, margin: 3 }),
    kvAppendCase({ rows: 2, kvHeads: 1, width: 18, dtype, first: 131_071, capacity: 640 }),
  ]),
};
