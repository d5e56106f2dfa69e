import type { Device } from '../src/index.js';
import { type ConformanceCase, type ConformanceFamily, ROW_COUNTS } from './conformance-case.js';
import { normalArray } from './random.js';
import { encode } from './storage.js';

/** Inverse frequencies of a head, float32: theta^(-2i/width) for the rotating pairs, then zeros. */
export function inverseFrequencies(width: number, theta: number, rotatingPairs = width / 2): Float32Array {
  return Float32Array.from({ length: width / 2 }, (_, i) =>
    i < rotatingPairs ? theta ** ((-2 * i) / width) : 0,
  );
}

/** [cosines, sines] of one position; the angle is rounded to float32, as the reference does it. */
export function ropeTableOracle(position: number, frequencies: Float32Array): Float64Array {
  const angles = frequencies.map((frequency) => position * frequency);
  return Float64Array.from([...angles].map(Math.cos).concat([...angles].map(Math.sin)));
}

/** Rotates the pairs (i, i + width/2) of one head. */
export function ropeOracle(x: ArrayLike<number>, table: ArrayLike<number>): Float64Array {
  const pairs = x.length / 2;
  return Float64Array.from(x, (value, i) =>
    i < pairs
      ? value * table[i]! - x[i + pairs]! * table[i + pairs]!
      : value * table[i - pairs]! + x[i - pairs]! * table[i]!,
  );
}

interface RopeCase {
  readonly title: string;
  readonly frequencies: Float32Array;
  readonly positions: Int32Array;
}

const uploadFrequencies = (device: Device, frequencies: Float32Array) => ({
  length: frequencies.length,
  dtype: 'F32' as const,
  data: device.upload(encode('F32', frequencies), 'frequencies'),
});

function ropeTableCase({ title, frequencies, positions }: RopeCase): ConformanceCase {
  return {
    name: `${title} rows=${positions.length}`,
    rows: { count: positions.length, positions },
    inputs: {},
    record: (ops, device) => ops.output('y', ops.ropeTable('T', uploadFrequencies(device, frequencies))),
    oracle: () => ({ y: [...positions].flatMap((position) => [...ropeTableOracle(position, frequencies)]) }),
    // The angle is exact in both; one rounding to float32 is left.
    tolerance: { absolute: 6e-8, relative: 6e-8 },
  };
}

/** Heads of several parts, each with angles of its own: the table comes from outside. */
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

const SLIDING = inverseFrequencies(256, 10_000);
const FULL = inverseFrequencies(512, 1_000_000, 64);
const FAR = Int32Array.of(0, 1, 2, 511, 4095, 131_071, 262_143);
const upTo = (rows: number) => Int32Array.from({ length: rows }, (_, r) => 3 + 17 * r);

export const ropeTable: ConformanceFamily = {
  name: 'rope_table',
  cases: [
    ropeTableCase({ title: 'sliding', frequencies: SLIDING, positions: FAR }),
    ropeTableCase({ title: 'full', frequencies: FULL, positions: FAR }),
    ...ROW_COUNTS.map((rows) =>
      ropeTableCase({ title: 'sliding', frequencies: SLIDING, positions: upTo(rows) }),
    ),
    ropeTableCase({ title: 'odd pairs', frequencies: inverseFrequencies(14, 100), positions: FAR }),
  ],
};

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
