import { expect, it } from 'vitest';
import { levelOf } from './level.js';

it('measures loudness in decibels', () => {
  expect(levelOf(new Float32Array(8))).toBe(0);
  expect(levelOf(new Float32Array(8).fill(1))).toBe(1);
  expect(levelOf(new Float32Array(8).fill(0.1))).toBeCloseTo(1 - 20 / 60);
  expect(levelOf(new Float32Array(8).fill(0.0001))).toBe(0);
});
