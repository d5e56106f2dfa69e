import { InvalidArgumentError } from '@markbase/core';
import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import type { BlockStore } from './block-store.js';
import type { PromptRows } from './prompt.js';
import { Sequence } from './sequence.js';

interface Waiter {
  readonly prompts: readonly (PromptRows | null)[];
  readonly resolve: (sequences: Sequence[]) => void;
}

/**
 * The sequences of a model. Callers wait in line until a sequence and the blocks for its prompt are free. What released
 * sequences held remains known until the blocks are needed.
 */
export class SequencePool {
  /** Maximum number of sequences in use at once. */
  readonly size: number;
  readonly #store: BlockStore;
  readonly #busy = new Set<Sequence>();
  readonly #waiters: Waiter[] = [];
  #nextId = 0;

  constructor(size: number, store: BlockStore) {
    this.size = size;
    this.#store = store;
  }

  /** Number of sequences available without waiting. */
  get idleCount(): number {
    return this.#waiters.length > 0 ? 0 : this.size - this.#busy.size;
  }

  /** Number of sequences in use. */
  get busyCount(): number {
    return this.#busy.size;
  }

  /** Sequences in use, the first one taken first. */
  get busy(): readonly Sequence[] {
    return [...this.#busy];
  }

  /**
   * Takes one sequence per entry, all at once, first come, first served.
   *
   * @param prompts a prompt that may begin with a known prefix; null requests a sequence that is computed as a whole
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
    if (this.isReadyFor(prompts)) return this.#take(prompts);
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

  /** Releases sequences; prompts with the same beginning may take over what they hold. */
  release(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) {
      if (this.#busy.delete(sequence)) this.#store.give(sequence);
    }
    this.#serve();
  }

  /** True if `acquire` would not wait. */
  isReadyFor(prompts: readonly (PromptRows | null)[]): boolean {
    return this.#waiters.length === 0 && this.#canTake(prompts);
  }

  /** True if there is a sequence for each prompt, and room for the prompts beside what the others hold. */
  #canTake(prompts: readonly (PromptRows | null)[]): boolean {
    if (this.#busy.size + prompts.length > this.size) return false;
    const blocks = prompts.map((rows) => Math.ceil(((rows?.end ?? 0) + 1) / BLOCK_TOKENS));
    return this.#busy.size === 0 || this.#store.hasRoom(blocks);
  }

  #serve(): void {
    for (let first = this.#waiters[0]; first; first = this.#waiters[0]) {
      if (!this.#canTake(first.prompts)) return;
      this.#waiters.shift();
      first.resolve(this.#take(first.prompts));
    }
  }

  #take(prompts: readonly (PromptRows | null)[]): Sequence[] {
    return prompts.map((rows) => {
      const salt = rows?.salt ?? '';
      const reuse = rows && rows.reuse !== 'none' ? (rows.reuse ?? 'any') : null;
      const sequence = new Sequence({ id: this.#nextId++, root: this.#store.root(salt), reuse, salt });
      this.#busy.add(sequence);
      return sequence;
    });
  }
}
