import { BlockStore } from '../src/engine/block-store.js';
import type { PositionKey, PromptRows } from '../src/engine/prompt.js';
import { Sequence } from '../src/engine/sequence.js';

/** A prompt with these keys; by default every row sees what is before it. */
export function rowsOf(
  keys: readonly PositionKey[],
  visibleEnd: readonly number[] = keys.map((_, index) => index),
): PromptRows {
  const tokens = Int32Array.from(keys, (key) => Number(key) || 0);
  return {
    begin: 0,
    end: keys.length,
    tokens,
    layerTokens: tokens,
    visibleEnd: Int32Array.from(visibleEnd),
    keys,
    soft: keys.map(() => null),
  };
}

/** Whole numbers from `first` on. */
export function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

/** Caches with room for everything that a test takes, unless it says otherwise. */
export function storeOf({ fullBlocks = 64, slidingBlocks = 64, windowTokens = 8 } = {}): BlockStore {
  return new BlockStore({ fullBlocks, slidingBlocks, windowTokens });
}

/** An empty sequence. */
export function sequenceOf(id: number, store = storeOf(), reuse: 'any' | 'exact' | null = 'any'): Sequence {
  return new Sequence({ id, root: store.root(''), reuse });
}

/** Adds the rows of a prompt up to `end`, as a step does. */
export function grow(
  store: BlockStore,
  sequence: Sequence,
  rows: PromptRows,
  end = rows.end,
  isExact = true,
): void {
  store.reserve(sequence, end);
  sequence.add(rows, end, isExact);
  store.settle(sequence);
}
