import { spreadHash } from './byte-hash.js';

/** Fields of a slot: two token ids, what they become, and rank + 1 (0 marks a free slot). */
const LEFT = 0;
const RIGHT = 1;
const MERGED = 2;
const RANK = 3;
const SLOT_FIELDS = 4;

/** Instead of a token id in rules that were taken away. */
const FORBIDDEN = -1;

/**
 * Merge rules: which two tokens become which one, and at which rank. A lower rank goes first.
 * One typed array with open addressing; all of a rule lies in one cache line.
 */
export class MergeTable {
  /** Rank of the rule that `find` found. */
  rank = -1;
  /** Token that the rule makes that `find` found. */
  merged = -1;
  /** Ranks given out so far. */
  count = 0;
  #stored = 0;
  #slots: Int32Array;
  #mask: number;

  /** @param expectedCount about how many rules will come; a good guess saves copying */
  constructor(expectedCount = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expectedCount, 16) * 2));
    this.#slots = new Int32Array(capacity * SLOT_FIELDS);
    this.#mask = capacity - 1;
  }

  /** Appends the rule with the next rank. Of two rules for one pair the later counts, as in the reference. */
  add(left: number, right: number, merged: number): void {
    if (++this.#stored * 2 > this.#mask) this.#grow();
    this.#store(left, right, merged, ++this.count);
  }

  /** Uses up a rank for a rule that can never apply. */
  skip(): void {
    this.count++;
  }

  /** Looks for the rule that joins these two tokens; true fills `rank` and `merged`. */
  find(left: number, right: number): boolean {
    const slots = this.#slots;
    const at = this.#locate(left, right);
    const rank = slots[at + RANK]!;
    if (rank === 0) return false;
    this.rank = rank - 1;
    this.merged = slots[at + MERGED]!;
    return true;
  }

  /** Takes away every rule that makes a token for which `isForbidden` holds. */
  forbid(isForbidden: (merged: number) => boolean): void {
    const slots = this.#slots;
    for (let at = 0; at < slots.length; at += SLOT_FIELDS) {
      // The slot stays taken, so that rules that were stored behind it are still found.
      if (slots[at + RANK] !== 0 && isForbidden(slots[at + MERGED]!)) slots[at + LEFT] = FORBIDDEN;
    }
  }

  /** Where the slot of this pair is, or the free slot where it would go. */
  #locate(left: number, right: number): number {
    const slots = this.#slots;
    let slot = hashPair(left, right) & this.#mask;
    for (;;) {
      const at = slot * SLOT_FIELDS;
      if (slots[at + RANK] === 0 || (slots[at + LEFT] === left && slots[at + RIGHT] === right)) return at;
      slot = (slot + 1) & this.#mask;
    }
  }

  #store(left: number, right: number, merged: number, rank: number): void {
    const at = this.#locate(left, right);
    this.#slots[at + LEFT] = left;
    this.#slots[at + RIGHT] = right;
    this.#slots[at + MERGED] = merged;
    this.#slots[at + RANK] = rank;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let at = 0; at < old.length; at += SLOT_FIELDS) {
      const rank = old[at + RANK]!;
      if (rank !== 0) this.#store(old[at + LEFT]!, old[at + RIGHT]!, old[at + MERGED]!, rank);
    }
  }
}

function hashPair(left: number, right: number): number {
  return spreadHash((Math.imul(left, 0x9e3779b1) + right) | 0);
}
