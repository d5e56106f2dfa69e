import { expect, it } from 'vitest';
import { AxialRope } from './axial-rope.js';

/**
 * Golden frequencies of docs/gemma4.md section 3.3, derived from the sine of coordinate 1 (x) and the cosine of coordinate 0 (y).
 */
it.each([
  [64, 1, 0.7498942],
  [64, 15, 0.0133352],
  [72, 1, 0.7742637],
  [72, 17, 0.0129155],
])('head width %i: inverse frequency %i', (headWidth, index, frequency) => {
  const row = new Float32Array(headWidth);
  new AxialRope(headWidth, 100).write(1, 0, row, 0);
  const pairs = headWidth / 4;
  expect(row[index]).toBeCloseTo(Math.cos(frequency), 6);
  expect(row[pairs + index]).toBeCloseTo(Math.sin(frequency), 6);
  expect(Array.from(row.subarray(2 * pairs, 3 * pairs))).toEqual(new Array(pairs).fill(1));
  expect(Array.from(row.subarray(3 * pairs))).toEqual(new Array(pairs).fill(0));
});

it('writes x before y', () => {
  const rope = new AxialRope(8, 100);
  const [one, other] = [new Float32Array(8), new Float32Array(8)];
  rope.write(5, 2, one, 0);
  rope.write(2, 5, other, 0);
  expect(Array.from(one.subarray(0, 4))).toEqual(Array.from(other.subarray(4)));
});
