import type { SequencePool } from './sequence-pool.js';

/** What a model has computed since it was loaded, and what it holds now. */
export interface ModelActivity {
  /** Prompt tokens that were computed, without those found in the caches. */
  readonly prefillTokens: number;
  /** Decode steps so far. */
  readonly decodeSteps: number;
  /** Rows of all decode steps; divided by the steps, this is the mean batch size. */
  readonly decodedTokens: number;
  /** Number of sequences in use. */
  readonly busySequences: number;
  /** Number of positions in the caches of all sequences. */
  readonly heldTokens: number;
}

/** Counts steps. */
export class StepCounts {
  prefillTokens = 0;
  decodeSteps = 0;
  decodedTokens = 0;

  /** Counts a decode step with this many rows. */
  addDecode(rows: number): void {
    this.decodeSteps += 1;
    this.decodedTokens += rows;
  }

  /** The counts together with the current state of a model's sequences. */
  with({ busyCount, heldTokens }: Pick<SequencePool, 'busyCount' | 'heldTokens'>): ModelActivity {
    const { prefillTokens, decodeSteps, decodedTokens } = this;
    return { prefillTokens, decodeSteps, decodedTokens, busySequences: busyCount, heldTokens };
  }
}
