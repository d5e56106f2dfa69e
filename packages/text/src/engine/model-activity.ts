import type { SequencePool } from './sequence-pool.js';

/** What a model has done since it was loaded, and what it holds now. */
export interface ModelActivity {
  /** Prompt tokens that were computed; those from the caches are not among them. */
  readonly prefillTokens: number;
  readonly decodeSteps: number;
  /** Rows of all decode steps: divided by the steps, the mean batch. */
  readonly decodedTokens: number;
  /** Sequences that are in use. */
  readonly busySequences: number;
  /** Positions that the caches of all sequences hold. */
  readonly heldTokens: number;
}

/** Counts steps. */
export class StepCounts {
  prefillTokens = 0;
  decodeSteps = 0;
  decodedTokens = 0;

  /** Counts a decode step of so many rows. */
  addDecode(rows: number): void {
    this.decodeSteps += 1;
    this.decodedTokens += rows;
  }

  /** The counts, with what the sequences of a model are doing now. */
  with({ busyCount, heldTokens }: Pick<SequencePool, 'busyCount' | 'heldTokens'>): ModelActivity {
    const { prefillTokens, decodeSteps, decodedTokens } = this;
    return { prefillTokens, decodeSteps, decodedTokens, busySequences: busyCount, heldTokens };
  }
}
