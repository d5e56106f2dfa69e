import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { countTokens, targetSize } from './target-size.js';

type Row = [budget: number, height: number, width: number, targetHeight: number, targetWidth: number];
const ROWS: Row[] = JSON.parse(readFileSync(fixture('image_sizes.json'), 'utf8'));

describe('targetSize and countTokens', () => {
  it('match every row of the reference table', () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(200);
    for (const [budget, height, width, targetHeight, targetWidth] of ROWS) {
      if (targetHeight === null) {
        expect(() => targetSize(width, height, budget)).toThrow();
        continue;
      }
      expect({ budget, ...targetSize(width, height, budget) }).toEqual({
        budget,
        width: targetWidth,
        height: targetHeight,
      });
      expect(countTokens(width, height, budget)).toBe((targetWidth / 48) * (targetHeight / 48));
    }
  });

  it('use a budget of 280 by default', () => {
    expect(targetSize(1024, 768)).toEqual({ width: 912, height: 672 });
    expect(countTokens(1024, 768)).toBe(266);
  });

  it.each([
    [0, 5, 280],
    [5, -1, 280],
    [5, Number.NaN, 280],
    [5, 5, 281],
  ])('refuse %d x %d with %d', (width, height, budget) => {
    for (const rule of [targetSize, countTokens]) {
      expect(() => rule(width, height, budget)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
  });
});
