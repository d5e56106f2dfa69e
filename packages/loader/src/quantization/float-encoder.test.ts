import { describe, expect, it } from 'vitest';
import { dequantizeFloat } from './float-codec.js';
import { quantizeFloat } from './float-encoder.js';
import { FLOAT_FORMATS, type FloatQuantizationMode } from './quantization-mode.js';

const MODES = ['mxfp4', 'mxfp8', 'nvfp4'] as const;

/** The numbers of all elements with a scale of 1, NaN left out, without a sign. */
function elements(mode: FloatQuantizationMode): number[] {
  const { bits } = FLOAT_FORMATS[mode];
  const one = mode === 'nvfp4' ? 0x38 : 127;
  const bytes = Uint8Array.from({ length: 128 }, (_, i) => (bits === 8 ? Math.min(i, 126) : i % 8));
  const columns = bits === 8 ? 128 : 256;
  const scales = new Uint8Array(columns / FLOAT_FORMATS[mode].groupSize).fill(one);
  const values = dequantizeFloat({ weight: new Uint32Array(bytes.buffer), scales }, 1, columns, mode);
  return [...new Set(values)].sort((a, b) => a - b);
}

describe.each(MODES)('quantizeFloat to %s', (mode) => {
  const { groupSize, bits } = FLOAT_FORMATS[mode];
  const largest = bits === 8 ? 448 : 6;
  const codes = elements(mode);

  it('keeps numbers of the format, of both signs and in any binade', () => {
    const numbers = codes.flatMap((code) => [code, -code]);
    const factor = mode === 'nvfp4' ? 1.125 : 2 ** -20;
    const groups = Math.ceil(numbers.length / (groupSize - 1));
    const values = new Float32Array(groups * groupSize);
    for (let i = 0; i < values.length; i++) {
      // Every group begins with its largest number, which fixes the scale.
      const isFirst = i % groupSize === 0;
      values[i] = factor * (isFirst ? largest : (numbers[i - Math.floor(i / groupSize) - 1] ?? 0));
    }
    const parts = quantizeFloat(values, groups, groupSize, mode);
    const back = dequantizeFloat(parts, groups, groupSize, mode);
    for (let i = 0; i < values.length; i++) expect(back[i]).toBeCloseTo(values[i]!, 30);
  });

  it('takes the nearest number, and between two the even code', () => {
    const middles = codes.slice(1).map((code, i) => [codes[i]!, code] as const);
    const values = new Float32Array(groupSize);
    for (const [i, [below, above]] of middles.entries()) {
      const middle = (below + above) / 2;
      values.set([largest, middle, Math.fround(middle * 0.999), Math.fround(middle * 1.001), -middle]);
      const back = dequantizeFloat(quantizeFloat(values, 1, groupSize, mode), 1, groupSize, mode);
      const even = i % 2 === 0 ? below : above;
      expect([...back.subarray(1, 5)].map((value) => value + 0)).toEqual([even, below, above, -even + 0]);
    }
  });

  it('gives a group with NaN or infinity the scale NaN, and zeros a scale', () => {
    const values = new Float32Array(3 * groupSize);
    values[3] = Number.NaN;
    values[groupSize] = Number.NEGATIVE_INFINITY;
    const back = dequantizeFloat(quantizeFloat(values, 3, groupSize, mode), 3, groupSize, mode);
    expect([...back.subarray(0, 2 * groupSize)].every(Number.isNaN)).toBe(true);
    expect([...back.subarray(2 * groupSize)]).toEqual(Array.from({ length: groupSize }, () => 0));
  });

  it('refuses wrong lengths', () => {
    expect(() => quantizeFloat(new Float32Array(8), 1, 8, mode)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'columns' }),
    );
    expect(() => quantizeFloat(new Float32Array(8), 1, groupSize, mode)).toThrow(
      expect.objectContaining({ code: 'SHAPE_MISMATCH' }),
    );
  });
});
