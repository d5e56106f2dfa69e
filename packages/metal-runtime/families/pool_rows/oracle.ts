import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';

function poolRowsCase(
  rows: number,
  width: number,
  count: number,
  outputRows: readonly number[],
  margin = 0,
): ConformanceCase {
  const stride = width + 2 * margin;
  const scale = Math.sqrt(width) / count;
  const x = normalArray(52, rows * stride);
  return {
    name: `${count} rows of [${rows}, ${width}] from [${outputRows}]${margin ? ' view' : ''}`,
    rows: { count: rows, outputRows: Int32Array.from(outputRows) },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole;
      ops.output('y', ops.poolRows(view, { count, scale }));
    },
    oracle: () => ({
      y: outputRows.flatMap((first) =>
        Array.from({ length: width }, (_, i) => {
          let sum = 0;
          for (let row = first; row < Math.min(first + count, rows); row++) {
            sum += x[row * stride + margin + i]!;
          }
          return sum * Math.fround(scale);
        }),
      ),
    }),
    // Several roundings of a sum, times a scale of up to 12.
    tolerance: { absolute: 1e-5, relative: 1e-6 },
    // The rows of a sum must be in one step.
    chunks: [],
  };
}

export const poolRows: ConformanceFamily = {
  name: 'pool_rows',
  cases: [
    poolRowsCase(9, 1152, 9, [0]),
    poolRowsCase(36, 768, 9, [0, 9, 18, 27]),
    poolRowsCase(8, 17, 4, [4, 0]),
    poolRowsCase(7, 33, 1, [0, 6, 3], 5),
    // After the last row there is nothing to add.
    poolRowsCase(7, 16, 4, [5]),
    poolRowsCase(7, 16, 4, []),
  ],
};
