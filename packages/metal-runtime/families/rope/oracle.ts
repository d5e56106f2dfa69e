import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import {
  FAR,
  FULL,
  inverseFrequencies,
  type RopeCase,
  ropeTableOracle,
  SLIDING,
  uploadFrequencies,
  upTo,
} from '../rope_table/oracle.js';

/** Rotates the pairs (i, i + width/2) of one head. */
export function ropeOracle(x: ArrayLike<number>, table: ArrayLike<number>): Float64Array {
  const pairs = x.length / 2;
  return Float64Array.from(x, (value, i) =>
    i < pairs
      ? value * table[i]! - x[i + pairs]! * table[i + pairs]!
      : value * table[i - pairs]! + x[i - pairs]! * table[i]!,
  );
}

/** Heads with several parts, each with its own angles: the table comes from outside. */
function axialCase(rows: number, width: number, axes: number): ConformanceCase {
  const heads = 3;
  const part = width / axes;
  const frequencies = inverseFrequencies(part, 100);
  const table = Float32Array.from(
    Array.from({ length: rows * axes }, (_, i) => [...ropeTableOracle((i * 7) % 31, frequencies)]).flat(),
  );
  const x = normalArray(43, rows * heads * width);
  return {
    name: `${axes} axes, width ${width}, rows=${rows}`,
    rows: { count: rows },
    inputs: {
      x: { rows: 'T', width: heads * width, data: x },
      table: { rows: 'T', width, data: table },
    },
    record(ops) {
      const input = ops.input('x', 'T', { axis: 'HK', size: heads * width });
      const angles = ops.input('table', 'T', { axis: 'K', size: width });
      ops.output('y', ops.rope(input, angles, { heads, axes }));
    },
    oracle() {
      const y = new Float64Array(x.length);
      for (let begin = 0; begin < x.length; begin += part) {
        const angles = Math.floor(begin / (heads * width)) * width + (begin % width);
        y.set(ropeOracle(x.subarray(begin, begin + part), table.subarray(angles, angles + part)), begin);
      }
      return { y };
    },
    tolerance: { absolute: 1e-6, relative: 3e-7 },
  };
}

function ropeCase({ title, frequencies, positions, heads }: RopeCase & { heads: number }): ConformanceCase {
  const rows = positions.length;
  const width = 2 * frequencies.length;
  const x = normalArray(41, rows * heads * width);
  return {
    name: `${title} heads=${heads} rows=${rows}`,
    rows: { count: rows, positions },
    inputs: { x: { rows: 'T', width: heads * width, data: x } },
    record(ops, device) {
      const table = ops.ropeTable('T', uploadFrequencies(device, frequencies));
      ops.output('y', ops.rope(ops.input('x', 'T', { axis: 'HK', size: heads * width }), table, { heads }));
    },
    oracle() {
      const y = new Float64Array(x.length);
      for (let v = 0; v < rows * heads; v++) {
        const table = ropeTableOracle(positions[Math.floor(v / heads)]!, frequencies);
        y.set(ropeOracle(x.subarray(v * width, (v + 1) * width), table), v * width);
      }
      return { y };
    },
    // Two products and a sum of numbers around 1, with a rounded table.
    tolerance: { absolute: 1e-6, relative: 3e-7 },
  };
}

export const rope: ConformanceFamily = {
  name: 'rope',
  cases: [
    ...ROW_COUNTS.map((rows) =>
      ropeCase({ title: 'sliding', frequencies: SLIDING, positions: upTo(rows), heads: 8 }),
    ),
    ropeCase({ title: 'full', frequencies: FULL, positions: FAR, heads: 2 }),
    ...[2, 6, 8, 14, 30, 32, 34].map((width) =>
      ropeCase({
        title: `width ${width}`,
        frequencies: inverseFrequencies(width, 100),
        positions: upTo(3),
        heads: 3,
      }),
    ),
    axialCase(7, 64, 2),
    axialCase(3, 72, 2),
    axialCase(2, 16, 2),
    axialCase(2, 24, 3),
  ],
};
