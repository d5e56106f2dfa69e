import { describe, expect, it } from 'vitest';
import { noise } from '../../../test/sounds.js';
import { InverseMdct } from './inverse-mdct.js';

describe('InverseMdct', () => {
  it.each([16, 64, 256])('equals the defining sum of cosines, for size %i', (size) => {
    const spectrum = noise(size / 2, size);
    const output = new Float32Array(size);
    new InverseMdct(size).transform(spectrum, output);
    for (let i = 0; i < size; i += 1) {
      let sum = 0;
      for (let k = 0; k < size / 2; k += 1) {
        sum += spectrum[k]! * Math.cos(((2 * Math.PI) / size) * (i + 0.5 + size / 4) * (k + 0.5));
      }
      expect(output[i]).toBeCloseTo(sum, 4);
    }
  });
});
