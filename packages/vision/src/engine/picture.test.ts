import { describe, expect, it } from 'vitest';
import { pixelValues } from '../image/index.js';
import { joinPixels, type Picture } from './picture.js';

const values = pixelValues('unit');

function picture(pixels: Picture['pixels']): Picture {
  return { patchCount: 1, softTokens: 1, positions: new Int32Array(2), pixels };
}

describe('joinPixels', () => {
  it('returns those of a single picture unchanged', () => {
    const pixels = { bytes: Uint8Array.of(1, 2), values };
    expect(joinPixels([picture(pixels)])).toBe(pixels);
  });

  it('keeps bytes that encode the same values', () => {
    const parts = [Uint8Array.of(1, 2), Uint8Array.of(3)].map((bytes) => picture({ bytes, values }));
    expect(joinPixels(parts)).toEqual({ bytes: Uint8Array.of(1, 2, 3), values });
  });

  it('converts bytes to numbers if other pictures have numbers or different values', () => {
    const bytes = picture({ bytes: Uint8Array.of(0, 255), values });
    const others = picture({ bytes: Uint8Array.of(0), values: pixelValues('symmetric') });
    expect(joinPixels([bytes, picture(Float32Array.of(0.5))])).toEqual(Float32Array.of(0, 1, 0.5));
    expect(joinPixels([bytes, others])).toEqual(Float32Array.of(0, 1, -1));
  });
});
