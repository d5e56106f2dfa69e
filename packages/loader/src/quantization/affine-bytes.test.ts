import { describe, expect, it } from 'vitest';
import { type AffineOptions, quantizeAffine, quantizeAffineBytes } from './affine-codec.js';
import { type FloatDType, fromFloat32, toFloat32 } from './float-conversion.js';

/** More elements than are converted at a time, and not a whole number of blocks. */
const ROWS = 131;
const COLUMNS = 1024;

const VALUES = Float32Array.from(
  { length: ROWS * COLUMNS },
  (_, index) => Math.sin(index * 12.9898) * (1 + (index % 7)),
);

describe('quantizeAffineBytes', () => {
  it.each<[FloatDType, AffineOptions['bits'], AffineOptions['groupSize']]>([
    ['BF16', 4, 64],
    ['F16', 3, 32],
    ['F32', 8, 128],
  ])('gives the result of quantizeAffine for %s, at any offset of a buffer', (dtype, bits, groupSize) => {
    const options: AffineOptions = { bits, groupSize, scaleDtype: dtype };
    const stored = fromFloat32(VALUES, dtype);
    const shifted = new Uint8Array(stored.length + 1);
    shifted.set(stored, 1);
    const expected = quantizeAffine(toFloat32(stored, dtype), ROWS, COLUMNS, options);
    for (const bytes of [stored, shifted.subarray(1)]) {
      const made = quantizeAffineBytes(bytes, dtype, ROWS, COLUMNS, options);
      expect(Buffer.compare(new Uint8Array(made.weight.buffer), new Uint8Array(expected.weight.buffer))).toBe(
        0,
      );
      expect(made.scales).toEqual(expected.scales);
      expect(made.biases).toEqual(expected.biases);
    }
  });

  it('encodes NaN and infinity instead of failing', () => {
    const values = new Float32Array(64).fill(1);
    values.set([Number.NaN, Number.POSITIVE_INFINITY, -1]);
    const made = quantizeAffine(values, 1, 64, { bits: 4, groupSize: 64, scaleDtype: 'F32' });
    expect(made.weight).toHaveLength(8);
  });
});
