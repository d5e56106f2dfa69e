import { expect, it } from 'vitest';
import { lastValue, smoothed } from './samples.js';

it('joins half-second rates to two seconds, and keeps the last value', () => {
  expect(smoothed([8, 0, 4, 8, 0, 0, 0])).toEqual([8, 4, 4, 5, 3, 3, 2]);
  expect(lastValue([1, 3, 0, 0])).toBe(3);
  expect(lastValue([0])).toBe(0);
});
