import { InvalidArgumentError } from '@markbase/core';
import type { PositionKey, PromptRows } from './prompt.js';

/** Properties of the caches that a sequence depends on. */
export interface SequenceLimits {
  /** Maximum number of positions in a sequence. */
  readonly contextTokens: number;
  /** Number of positions in the smallest cache; older ones are overwritten. */
  readonly smallestCapacityTokens: number;
  /** Number of keys that a query of a sliding layer sees, including its own. */
  readonly windowTokens: number;
}

/** One slot of the caches: the positions it holds, and the tokens and media of these positions. */
export class Sequence {
  /** Number of the slot. */
  readonly slot: number;
  /** Number of the adapter that computes the next token; see `PromptRows.adapter`. */
  adapter: number | undefined;
  readonly #limits: SequenceLimits;
  readonly #keys: PositionKey[] = [];
  readonly #visibleEnds: number[] = [];
  /** Position after the last one written since the sequence was empty, whether that write succeeded or not. */
  #writtenEnd = 0;
  /** Positions before this one hold bit for bit what a prompt with the same tokens would compute. */
  #exactEnd = 0;

  constructor(slot: number, limits: SequenceLimits) {
    this.slot = slot;
    this.#limits = limits;
  }

  /** Number of positions whose keys and values are in the caches; the next token goes to this position. */
  get length(): number {
    return this.#keys.length;
  }

  /**
   * How much of a prompt needs no computation: its longest prefix that the caches hold. At least the last token remains
   * to be computed, and an image whose rows see each other is never split. Returns 0 if sliding layers have already
   * overwritten what the first new token must see.
   *
   * @param rows a prompt from position 0
   */
  reusablePrefix(rows: PromptRows): number {
    const held = rows.reuse === 'exact' ? this.#exactEnd : this.length;
    const limit = Math.min(held, rows.end - 1);
    let length = 0;
    while (
      length < limit &&
      this.#keys[length] === rows.keys[length] &&
      this.#visibleEnds[length] === rows.visibleEnd[length]
    ) {
      length++;
    }
    const cut = length;
    while (length > 0 && rows.visibleEnd[length - 1]! >= cut) length--;
    return this.#isIntact(length) ? length : 0;
  }

  /**
   * Drops everything from position `length` on.
   *
   * @throws InvalidArgumentError if sliding layers no longer hold the positions before it
   */
  truncate(length: number): void {
    if (!Number.isInteger(length) || length < 0 || length > this.length || !this.#isIntact(length)) {
      throw new InvalidArgumentError({
        argument: 'length',
        expected: `0, or a position whose previous ${this.#limits.windowTokens - 1} positions the sliding layers still hold`,
        received: length,
        hint: 'Truncate to 0 and prefill again',
      });
    }
    this.#keys.length = length;
    this.#visibleEnds.length = length;
    this.#exactEnd = Math.min(this.#exactEnd, length);
    if (length === 0) this.#writtenEnd = 0;
  }

  /** Takes over the first `length` positions of `source` after their keys and values have been copied. */
  adopt(source: Sequence, length: number): void {
    this.#keys.splice(0, Number.POSITIVE_INFINITY, ...source.#keys.slice(0, length));
    this.#visibleEnds.splice(0, Number.POSITIVE_INFINITY, ...source.#visibleEnds.slice(0, length));
    this.#writtenEnd = source.#writtenEnd;
    this.#exactEnd = Math.min(source.#exactEnd, length);
  }

  /** Records that a step is about to write positions up to `end`, whether it succeeds or not. */
  markWritten(end: number): void {
    this.#writtenEnd = Math.max(this.#writtenEnd, end);
  }

  /**
   * Adds the position that a step has just written.
   *
   * @param matchesPrefill the step computed the same bits as a prompt with these tokens would
   */
  push(key: PositionKey, visibleEnd: number, matchesPrefill = true): void {
    if (matchesPrefill && this.#exactEnd === this.length) this.#exactEnd++;
    this.#keys.push(key);
    this.#visibleEnds.push(visibleEnd);
  }

  /** True if the caches still hold all positions that a token at `length` sees in a sliding layer. */
  #isIntact(length: number): boolean {
    const { smallestCapacityTokens, windowTokens } = this.#limits;
    const oldest = Math.max(0, this.#writtenEnd - smallestCapacityTokens);
    return length === 0 || Math.max(0, length - windowTokens + 1) >= oldest;
  }
}
