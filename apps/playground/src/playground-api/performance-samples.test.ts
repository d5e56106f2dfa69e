import type { TextModel } from '@markbase/text';
import { afterEach, expect, it, vi } from 'vitest';
import { PerformanceSampler } from './performance-samples.js';

const SETTINGS = { maxSequences: 4, rememberedSequences: 1, contextTokens: 100 };
const NOTHING = {
  prefillTokens: 0,
  decodeSteps: 0,
  decodedTokens: 0,
  busySequences: 0,
  heldTokens: 0,
  heldCacheBytes: 0,
};

/** A model with counters that the test sets. */
function modelOf(counts: { value: Partial<TextModel['activity']> }): TextModel {
  return {
    settings: SETTINGS,
    cacheBytes: 500,
    get activity() {
      return { ...NOTHING, ...counts.value };
    },
  } as TextModel;
}

afterEach(() => {
  vi.useRealTimers();
});

it('returns rates since the last sample, and shares of the capacity', () => {
  vi.useFakeTimers();
  const sampler = new PerformanceSampler();
  const counts = { value: {} };
  const one = modelOf(counts);
  expect(sampler.sample(one)).toMatchObject({ decodeTokensPerSecond: 0, meanBatch: 0, slots: 4 });
  vi.advanceTimersByTime(500);
  counts.value = {
    prefillTokens: 50,
    decodeSteps: 5,
    decodedTokens: 15,
    busySequences: 3,
    heldCacheBytes: 250,
  };
  expect(sampler.sample(one)).toMatchObject({
    prefillTokensPerSecond: 100,
    decodeTokensPerSecond: 30,
    meanBatch: 3,
    running: 3,
    cacheUse: 0.5,
  });
});

it('does not compare with the counters of another model', () => {
  const sampler = new PerformanceSampler();
  sampler.sample(modelOf({ value: { decodedTokens: 1000 } }));
  expect(sampler.sample(modelOf({ value: { decodedTokens: 10 } })).decodeTokensPerSecond).toBe(0);
  expect(sampler.sample(null)).toMatchObject({ slots: 0, residentBytes: expect.any(Number) });
});
