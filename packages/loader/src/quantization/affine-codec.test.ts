import { describe, expect, it } from 'vitest';
import { type AffineOptions, dequantizeAffine, quantizeAffine } from './affine-codec.js';

const OPTIONS: AffineOptions = { bits: 4, groupSize: 32, scaleDtype: 'F32' };

describe('quantizeAffine', () => {
  it('represents values on a grid of codes exactly', () => {
    const values = Float32Array.from({ length: 64 }, (_, i) => (i % 16) * 0.5 - 8);
    const parts = quantizeAffine(values, 2, 32, OPTIONS);
    expect(dequantizeAffine(parts, 2, 32, OPTIONS)).toEqual(values);
  });

  it.each([2, 3, 4, 5, 6, 8] as const)('keeps %i-bit values within half a step', (bits) => {
    const values = Float32Array.from({ length: 256 }, (_, i) => Math.sin(i * 12.9898) * (1 + (i % 7)));
    const options: AffineOptions = { ...OPTIONS, bits };
    const back = dequantizeAffine(quantizeAffine(values, 2, 128, options), 2, 128, options);
    // The range of a group is at most 14. Representing 0 exactly can move the far edge by another half step.
    const step = 14 / (2 ** bits - 1);
    for (let i = 0; i < values.length; i++) expect(Math.abs(back[i]! - values[i]!)).toBeLessThanOrEqual(step);
  });

  it.each([
    ['bits', 32, { ...OPTIONS, bits: 7 }],
    ['groupSize', 32, { ...OPTIONS, groupSize: 16 }],
    ['columns', 48, OPTIONS],
  ])('refuses wrong %s', (argument, columns, options) => {
    const expected = expect.objectContaining({ code: 'INVALID_ARGUMENT', argument });
    const wrong = options as AffineOptions;
    expect(() => quantizeAffine(new Float32Array(columns), 1, columns, wrong)).toThrow(expected);
    const parts = { weight: new Uint32Array(4), scales: new Uint8Array(4), biases: new Uint8Array(4) };
    expect(() => dequantizeAffine(parts, 1, columns, wrong)).toThrow(expected);
  });

  it('refuses arrays of another length', () => {
    const mismatch = (argument: string) => expect.objectContaining({ code: 'SHAPE_MISMATCH', argument });
    expect(() => quantizeAffine(new Float32Array(31), 1, 32, OPTIONS)).toThrow(mismatch('values'));
    const parts = quantizeAffine(new Float32Array(32), 1, 32, OPTIONS);
    for (const argument of ['weight', 'scales', 'biases'] as const) {
      const wrong = { ...parts, [argument]: argument === 'weight' ? new Uint32Array(5) : new Uint8Array(8) };
      expect(() => dequantizeAffine(wrong, 1, 32, OPTIONS)).toThrow(mismatch(argument));
    }
  });
});
