import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { DecoderConfig } from '../model/config.js';
import { checkedSettings } from './text-model-options.js';

const CONFIG = { maxPositions: 131072, isBidirectionalInImages: false } as DecoderConfig;

describe('checkedSettings', () => {
  it('has defaults that fit on a small machine', () => {
    expect(checkedSettings(CONFIG, {})).toEqual({
      precision: 'fast',
      contextTokens: 8192,
      maxSequences: 1,
      rememberedSequences: 0,
      prefillChunk: 512,
      maxStepTokens: 512,
      checkFinite: false,
    });
    expect(checkedSettings({ ...CONFIG, maxPositions: 300 }, {})).toMatchObject({
      contextTokens: 300,
      prefillChunk: 300,
    });
  });

  it('leaves room for the largest image where its rows see each other', () => {
    const config = { ...CONFIG, isBidirectionalInImages: true };
    expect(checkedSettings(config, {}).maxStepTokens).toBe(1120);
    expect(checkedSettings(config, { contextTokens: 700 }).maxStepTokens).toBe(700);
    expect(checkedSettings(config, { prefillChunk: 2048 }).maxStepTokens).toBe(2048);
  });

  it.each([
    { contextTokens: 0 },
    { contextTokens: 131073 },
    { contextTokens: 10.5 },
    { maxSequences: 0 },
    { rememberedSequences: -1 },
    { prefillChunk: 0 },
    { precision: 'exact' as 'high' },
  ])('refuses %o', (options) => {
    expect(() => checkedSettings(CONFIG, options)).toThrow(InvalidArgumentError);
  });
});
