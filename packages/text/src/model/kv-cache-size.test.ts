import type { LayerConfig, TextConfig } from '@markbase/loader';
import { expect, it } from 'vitest';
import { kvCacheSize } from './kv-cache-size.js';

function layer(kind: 'sliding' | 'full', kvHeadCount: number, headDim: number, kvSource: number | null) {
  return { kind, kvHeadCount, headDim, kvSource } as LayerConfig;
}

it('counts the layers that own a cache, sliding ones up to their window', () => {
  const layers = [layer('sliding', 2, 8, null), layer('full', 1, 16, null), layer('sliding', 2, 8, 0)];
  const text = { layers, slidingWindow: 10, maxPositions: 100 } as unknown as TextConfig;
  // Keys and values of 16 numbers of two bytes each.
  expect(kvCacheSize(text)).toEqual({
    bytesPerToken: 64 + 64,
    bytesPerTokenBeyondWindow: 64,
    windowTokens: 10,
    bytesAtMaxPositions: 64 * 10 + 64 * 100,
  });
  expect(kvCacheSize(text, 4).bytesPerToken).toBe(256);
});
