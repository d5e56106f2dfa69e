import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { DecoderConfig } from '../model/config.js';
import { checkedSettings } from './text-model-options.js';

const CPU = { kind: 'cpu', totalMemoryBytes: 128e9 } as const;
const CONFIG = { maxPositions: 131072, isBidirectionalInImages: false } as DecoderConfig;

describe('checkedSettings', () => {
  it('has defaults that suit a small machine', () => {
    expect(checkedSettings(CONFIG, {}, CPU)).toEqual({
      precision: 'fast',
      contextTokens: 8192,
      cacheBytes: null,
      savedPrefixes: null,
      interTokenMs: null,
      maxSequences: 1,
      rememberedSequences: 0,
      prefillChunk: 512,
      maxStepTokens: 512,
      checkFinite: false,
      suppressPlaceholders: true,
      speculation: null,
    });
    expect(checkedSettings({ ...CONFIG, maxPositions: 300 }, {}, CPU)).toMatchObject({
      contextTokens: 300,
      prefillChunk: 300,
    });
  });

  it('has longer steps on large NVIDIA GPUs', () => {
    const chunkOn = (kind: 'cuda' | 'metal', totalMemoryBytes: number) =>
      checkedSettings(CONFIG, {}, { kind, totalMemoryBytes }).prefillChunk;
    expect(chunkOn('cuda', 141e9)).toBe(2048);
    expect(chunkOn('cuda', 24e9)).toBe(512);
    expect(chunkOn('metal', 128e9)).toBe(512);
  });

  it('leaves room for the largest image if its rows see each other', () => {
    const config = { ...CONFIG, isBidirectionalInImages: true };
    expect(checkedSettings(config, {}, CPU).maxStepTokens).toBe(1120);
    expect(checkedSettings(config, { contextTokens: 700 }, CPU).maxStepTokens).toBe(700);
    expect(checkedSettings(config, { prefillChunk: 2048 }, CPU).maxStepTokens).toBe(2048);
  });

  it.each([
    { contextTokens: 0 },
    { contextTokens: 131073 },
    { contextTokens: 10.5 },
    { maxSequences: 0 },
    { rememberedSequences: -1 },
    { prefillChunk: 0 },
    { interTokenMs: 0 },
    { precision: 'exact' as 'high' },
  ])('refuses %o', (options) => {
    expect(() => checkedSettings(CONFIG, options, CPU)).toThrow(InvalidArgumentError);
  });
});
