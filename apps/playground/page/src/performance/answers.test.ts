import { expect, it } from 'vitest';
import { ratesOf } from './answers.js';

const answer = {
  promptTokens: 120,
  cachedTokens: 20,
  completionTokens: 11,
  firstTokenMs: 500,
  totalMs: 1500,
};

it('splits the time between prompt and answer', () => {
  expect(ratesOf(answer)).toEqual({ prefillPerSecond: 200, decodePerSecond: 10, prefillShare: 1 / 3 });
});

it('returns no rate if nothing was measured, or over less than 50 ms', () => {
  expect(ratesOf({ ...answer, completionTokens: 40, totalMs: 549 }).decodePerSecond).toBeNull();
  expect(ratesOf({ ...answer, firstTokenMs: 49 }).prefillPerSecond).toBeNull();
  expect(ratesOf({ ...answer, completionTokens: 1, totalMs: 500 }).decodePerSecond).toBeNull();
  expect(ratesOf({ ...answer, firstTokenMs: 0, totalMs: 0 })).toMatchObject({
    prefillPerSecond: null,
    prefillShare: 0,
  });
});
