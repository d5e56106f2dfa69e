import type { TextConfig } from '@markbase/loader';

/** Memory of the keys and values of one sequence. */
export interface KvCacheSize {
  /** Per token of context, layers with a sliding window included: what a short prompt costs. */
  readonly bytesPerToken: number;
  /** Per token beyond the window: full layers alone still grow. */
  readonly bytesPerTokenBeyondWindow: number;
  readonly windowTokens: number;
  /** Of a sequence as long as the model allows, without the rows that a prefill step needs beside the window. */
  readonly bytesAtMaxPositions: number;
}

/**
 * Memory that a decoder's caches need: 2 · G · K elements per token and layer that owns a cache.
 *
 * @param elementBytes size of a stored number: 2 in `fast` (bfloat16), 4 in `high`
 */
export function kvCacheSize(text: TextConfig, elementBytes = 2): KvCacheSize {
  const bytes = (kind: 'sliding' | 'full') =>
    text.layers
      .filter((layer) => layer.kind === kind && layer.kvSource === null)
      .reduce((sum, layer) => sum + 2 * layer.kvHeadCount * layer.headDim * elementBytes, 0);
  const sliding = bytes('sliding');
  const full = bytes('full');
  return {
    bytesPerToken: sliding + full,
    bytesPerTokenBeyondWindow: full,
    windowTokens: text.slidingWindow,
    bytesAtMaxPositions: sliding * Math.min(text.slidingWindow, text.maxPositions) + full * text.maxPositions,
  };
}
