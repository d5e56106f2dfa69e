import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { encode } from '../../conformance/storage.js';
import type { Device } from '../../src/index.js';

/** Inverse frequencies of a head in float32: theta^(-2i/width) for the rotating pairs, then zeros. */
export function inverseFrequencies(width: number, theta: number, rotatingPairs = width / 2): Float32Array {
  return Float32Array.from({ length: width / 2 }, (_, i) =>
    i < rotatingPairs ? theta ** ((-2 * i) / width) : 0,
  );
}

/** [cosines, sines] of one position; the angle is rounded to float32, as in the reference. */
export function ropeTableOracle(position: number, frequencies: Float32Array): Float64Array {
  const angles = frequencies.map((frequency) => position * frequency);
  return Float64Array.from([...angles].map(Math.cos).concat([...angles].map(Math.sin)));
}

/** Angles of some positions. */
export interface RopeCase {
  readonly title: string;
  readonly frequencies: Float32Array;
  readonly positions: Int32Array;
}

/** Frequencies as a vector of a device. */
export const uploadFrequencies = (device: Device, frequencies: Float32Array) => ({
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
    // The angle is exact in both; one rounding to float32 remains.
    tolerance: { absolute: 6e-8, relative: 6e-8 },
  };
}

/** As in released models: for sliding and full layers, and positions near and far. */
export const SLIDING = inverseFrequencies(256, 10_000);
export const FULL = inverseFrequencies(512, 1_000_000, 64);
export const FAR = Int32Array.of(0, 1, 2, 511, 4095, 131_071, 262_143);
/** Positions with gaps. */
export const upTo = (rows: number) => Int32Array.from({ length: rows }, (_, r) => 3 + 17 * r);

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
