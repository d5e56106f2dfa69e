import type { LayerConfig } from '../config/layer-config.js';
import type { TextConfig } from '../config/text-config.js';

/** Bytes of one key or value element as the engine stores it: float32 in `high`, bfloat16 in `fast`. */
export type KvElementBytes = 2 | 4;

/** Memory of keys and values of one sequence. */
export interface KvBytes {
  /** Per token of context, including layers with a sliding window: the cost of a short prompt. */
  readonly perToken: number;
  /** Per token beyond the window: only full layers still grow. */
  readonly perTokenBeyondWindow: number;
  /** Tokens that a sliding layer keeps. */
  readonly windowTokens: number;
}

/** Growth of the caches with the context: 2 · G · K elements per token and layer that owns a cache. */
export function kvBytes(text: TextConfig, elementBytes: KvElementBytes = 2): KvBytes {
  const sum = (layers: readonly LayerConfig[]): number =>
    layers.reduce((bytes, layer) => bytes + layerBytes(layer, elementBytes), 0);
  const owners = text.layers.filter((layer) => layer.kvSource === null);
  const full = owners.filter((layer) => layer.kind === 'full');
  return { perToken: sum(owners), perTokenBeyondWindow: sum(full), windowTokens: text.slidingWindow };
}

/** Positions of a block of a cache. */
const BLOCK_TOKENS = 32;

/**
 * Bytes of the caches that a model is loaded with, in blocks of 32 positions.
 *
 * For each sequence, a full layer holds `contextTokens` and a sliding one the blocks that its window touches; all
 * sequences together also hold the rows of one step.
 */
export function cacheBytes(
  text: TextConfig,
  sizes: {
    readonly contextTokens: number;
    readonly sequences: number;
    readonly maxStepTokens: number;
    readonly elementBytes: KvElementBytes;
  },
): number {
  const { contextTokens, sequences, maxStepTokens, elementBytes } = sizes;
  const context = Math.ceil(contextTokens / BLOCK_TOKENS);
  const window = Math.min(context, Math.ceil((text.slidingWindow - 1) / BLOCK_TOKENS) + 2);
  const sliding = Math.min(sequences * window + Math.ceil(maxStepTokens / BLOCK_TOKENS), sequences * context);
  let bytes = 0;
  for (const layer of text.layers) {
    if (layer.kvSource !== null) continue;
    const blocks = layer.kind === 'full' ? sequences * context : sliding;
    bytes += blocks * BLOCK_TOKENS * layerBytes(layer, elementBytes);
  }
  return bytes;
}

/**
 * Bytes of keys and values that one decoding step reads after `positions` tokens. Layers that share a cache read it
 * again.
 */
export function kvReadBytes(text: TextConfig, positions: number, elementBytes: KvElementBytes): number {
  return text.layers.reduce((bytes, layer) => {
    const seen = layer.kind === 'full' ? positions : Math.min(positions, text.slidingWindow);
    return bytes + seen * layerBytes(layer, elementBytes);
  }, 0);
}

function layerBytes({ kvHeadCount, headDim }: LayerConfig, elementBytes: number): number {
  return 2 * kvHeadCount * headDim * elementBytes;
}
