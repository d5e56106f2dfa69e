import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';

function gatherRowsCase(
  rows: number,
  width: number,
  outputRows: readonly number[],
  margin = 0,
): ConformanceCase {
  const stride = width + 2 * margin;
  const x = normalArray(51, rows * stride);
  return {
    name: `[${rows}, ${width}] to [${outputRows}]${margin ? ' view' : ''}`,
    rows: { count: rows, outputRows: Int32Array.from(outputRows) },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      ops.output(
        'y',
        ops.gatherRows(margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole),
      );
    },
    oracle: () => ({
      y: outputRows.flatMap((row) => [...x.subarray(row * stride + margin, row * stride + margin + width)]),
    }),
    // Copies are exact.
    tolerance: { absolute: 0, relative: 0 },
    // A split step yields its output rows in the order of its parts.
    chunks: outputRows.every((row, i) => i === 0 || row >= outputRows[i - 1]!) ? undefined : [],
  };
}

export const gatherRows: ConformanceFamily = {
  name: 'gather_rows',
  cases: [
    gatherRowsCase(1, 1536, [0]),
    gatherRowsCase(2, 2560, [1]),
    gatherRowsCase(7, 33, [0, 2, 6]),
    gatherRowsCase(7, 17, [6, 0, 3, 3], 5),
    gatherRowsCase(64, 5376, [63]),
    gatherRowsCase(7, 16, []),
  ],
};
