import type { TextConfig } from '@markbase/loader';

/** Memory of keys and values, for caches of bfloat16. */
export interface KvSize {
  /** Per token of context, layers with a sliding window included: what a short prompt costs. */
  readonly bytesPerToken: number;
  /** Per token beyond the window: full layers alone still grow. */
  readonly bytesPerTokenBeyondWindow: number;
  readonly windowTokens: number;
  /** Of a sequence as long as the model allows. */
  readonly bytesAtMaxPositions: number;
}

const ELEMENT_BYTES = 2;

/** Keys and values of one sequence: 2 · G · K elements per token and layer that owns a cache. */
export function kvSize(text: TextConfig): KvSize {
  const bytes = (kind: 'sliding' | 'full') =>
    text.layers
      .filter((layer) => layer.kind === kind && layer.kvSource === null)
      .reduce((sum, layer) => sum + 2 * layer.kvHeadCount * layer.headDim * ELEMENT_BYTES, 0);
  const sliding = bytes('sliding');
  const full = bytes('full');
  return {
    bytesPerToken: sliding + full,
    bytesPerTokenBeyondWindow: full,
    windowTokens: text.slidingWindow,
    bytesAtMaxPositions: sliding * Math.min(text.slidingWindow, text.maxPositions) + full * text.maxPositions,
  };
}
