import type { BlockPool } from './block-pool.js';
import type { BlockStore } from './block-store.js';
import type { Advance } from './decode-queue.js';
import type { SequencePool } from './sequence-pool.js';

/** What a model has computed since it was loaded, and what it holds now. */
export interface ModelActivity {
  /** Prompt tokens that were computed, without those found in the caches. */
  readonly prefillTokens: number;
  /** Decode steps so far. */
  readonly decodeSteps: number;
  /** Sequences of all decode steps; divided by the steps, this is the mean batch size. */
  readonly decodedTokens: number;
  /** Tokens that were guessed. */
  readonly draftedTokens: number;
  /** Guessed tokens that were right: what decode steps yielded beyond `decodedTokens`. */
  readonly acceptedTokens: number;
  /** Number of sequences in use. */
  readonly busySequences: number;
  /** Number of positions of the sequences in use. */
  readonly heldTokens: number;
  /** Bytes of the caches that the sequences in use hold. */
  readonly heldCacheBytes: number;
  /** Bytes of the caches with known prefixes that no sequence holds: they are given up when blocks are needed. */
  readonly idleCacheBytes: number;
}

/** Counts steps. */
export class StepCounts {
  prefillTokens = 0;
  decodeSteps = 0;
  decodedTokens = 0;
  draftedTokens = 0;
  acceptedTokens = 0;

  /** Counts a decode step. */
  addDecode(advances: readonly Advance[]): void {
    this.decodeSteps += 1;
    this.decodedTokens += advances.length;
    for (const { choices, draftedTokens } of advances) {
      this.draftedTokens += draftedTokens;
      this.acceptedTokens += choices.length - 1;
    }
  }

  /**
   * The counts together with the current state of a model's sequences.
   *
   * @param blockBytes size of a block of all full layers, and of one of all sliding layers
   */
  with(
    { busy }: Pick<SequencePool, 'busy'>,
    { pools }: BlockStore,
    blockBytes: readonly [number, number],
  ): ModelActivity {
    const { prefillTokens, decodeSteps, decodedTokens, draftedTokens, acceptedTokens } = this;
    const bytes = (count: (pool: BlockPool) => number) =>
      count(pools[0]) * blockBytes[0] + count(pools[1]) * blockBytes[1];
    return {
      prefillTokens,
      decodeSteps,
      decodedTokens,
      draftedTokens,
      acceptedTokens,
      busySequences: busy.length,
      heldTokens: busy.reduce((sum, sequence) => sum + sequence.heldTokens, 0),
      heldCacheBytes: bytes((pool) => pool.heldCount),
      idleCacheBytes: bytes((pool) => pool.idleCount),
    };
  }
}
