import { InvalidArgumentError } from '@markbase/core';
import type { PromptRows } from './prompt.js';
import { Sequence, type SequenceLimits } from './sequence.js';

interface Waiter {
  readonly prompts: readonly (PromptRows | null)[];
  readonly resolve: (sequences: Sequence[]) => void;
}

/**
 * The sequences of a model. Callers that find none free wait in line. A released sequence keeps its contents until it
 * is handed out again, so having more sequences than may be in use at once means that more prompts are remembered.
 */
export class SequencePool {
  /** Maximum number of sequences in use at once. */
  readonly size: number;
  readonly #all: readonly Sequence[];
  /** Free sequences; the one that has been free longest comes first. */
  readonly #idle: Sequence[];
  readonly #waiters: Waiter[] = [];

  constructor(size: number, limits: SequenceLimits, rememberedCount = 0) {
    this.size = size;
    this.#all = Array.from({ length: size + rememberedCount }, (_, slot) => new Sequence(slot, limits));
    this.#idle = [...this.#all];
  }

  /** Number of sequences available without waiting. */
  get idleCount(): number {
    return this.#waiters.length > 0 ? 0 : this.#freeCount;
  }

  /** Number of sequences in use. */
  get busyCount(): number {
    return this.#all.length - this.#idle.length;
  }

  /** Positions held by all sequences, in use or not. */
  get heldTokens(): number {
    return this.#all.reduce((sum, { length }) => sum + length, 0);
  }

  /**
   * Takes one sequence per entry, all at once, first come, first served.
   *
   * @param prompts a prompt whose prefix may be reused: the free sequence that holds most of it is truncated to that
   *   prefix; null requests an empty sequence
   * @throws InvalidArgumentError for more entries than the pool has sequences; the signal's reason when aborted
   */
  async acquire(prompts: readonly (PromptRows | null)[], signal?: AbortSignal): Promise<Sequence[]> {
    signal?.throwIfAborted();
    if (prompts.length > this.size) {
      throw new InvalidArgumentError({
        argument: 'sequences',
        expected: `at most ${this.size} at once`,
        received: prompts.length,
        hint: 'Load the model with a larger maxSequences',
      });
    }
    if (this.#waiters.length === 0 && this.#freeCount >= prompts.length) return this.#take(prompts);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal!.reason);
        this.#serve();
      };
      const waiter: Waiter = {
        prompts,
        resolve: (sequences) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(sequences);
        },
      };
      this.#waiters.push(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Releases sequences; they keep their contents. */
  release(sequences: readonly Sequence[]): void {
    this.#idle.push(...sequences);
    this.#serve();
  }

  /**
   * The sequence, in use or not, that holds the longest prefix of a prompt, if it is longer than what `own` holds; else
   * null.
   */
  longestPrefix(rows: PromptRows, own: Sequence): { source: Sequence; length: number } | null {
    let best = { source: own, length: own.length };
    for (const source of this.#all) {
      const length = source === own ? 0 : source.reusablePrefix(rows);
      if (length > best.length) best = { source, length };
    }
    return best.source === own ? null : best;
  }

  get #freeCount(): number {
    return this.size - this.busyCount;
  }

  #serve(): void {
    for (let first = this.#waiters[0]; first; first = this.#waiters[0]) {
      if (this.#freeCount < first.prompts.length) return;
      this.#waiters.shift();
      first.resolve(this.#take(first.prompts));
    }
  }

  #take(prompts: readonly (PromptRows | null)[]): Sequence[] {
    return prompts.map((rows) => {
      const { sequence, length } = this.#choose(rows);
      this.#idle.splice(this.#idle.indexOf(sequence), 1);
      sequence.truncate(length);
      return sequence;
    });
  }

  /** The free sequence that suits a prompt best, and how much of it to keep. */
  #choose(rows: PromptRows | null): { sequence: Sequence; length: number } {
    const candidates = this.#idle.map((sequence) => ({
      sequence,
      length: rows ? sequence.reusablePrefix(rows) : 0,
    }));
    const best = candidates.reduce((a, b) => (b.length > a.length ? b : a));
    const empty = candidates.find(({ sequence }) => sequence.length === 0);
    // A short common prefix, such as a system prompt, does not justify discarding the rest of another conversation.
    const isWorthIt = best.length * 2 > best.sequence.length;
    if (best.length > 0 && (isWorthIt || !empty)) return best;
    return empty ?? candidates[0]!;
  }
}
