import { expect, it } from 'vitest';
import { lastValue, smoothed } from './samples.js';

it('joins half-second rates to two seconds, and keeps the last value', () => {
  expect(smoothed([8, 0, 4, 9, 0, 0, 0, 1])).toEqual([8, 0, 6, 7, 0, 0, 0, 1]);
  expect(lastValue([1, 3, 0, 0])).toBe(3);
  expect(lastValue([0])).toBe(0);
});
