import { describe, expect, it } from 'vitest';
import { inverseFrequencies } from './rope-frequencies.js';

describe('inverseFrequencies', () => {
  it('rotates every pair of a sliding head', () => {
    const values = inverseFrequencies({ headDim: 256, rope: { theta: 10_000, rotaryPairs: 128 } });
    expect(values).toHaveLength(128);
    expect(values[0]).toBe(1);
    expect(values[1]).toBeCloseTo(0.9305720409, 7);
    expect(values[127]).toBeCloseTo(1.0746078e-4, 10);
  });

  it('rotates a quarter of a full head, with the whole width in the exponent', () => {
    const values = inverseFrequencies({ headDim: 512, rope: { theta: 1_000_000, rotaryPairs: 64 } });
    expect(values).toHaveLength(256);
    expect(values[1]).toBeCloseTo(0.9474635257, 7);
    expect(values[63]).toBeCloseTo(0.0333762469, 8);
    expect([...values.subarray(64)].every((value) => value === 0)).toBe(true);
  });
});
