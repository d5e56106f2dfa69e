import { spreadHash } from './byte-hash.js';

/** Fields of a slot: two token ids, the id of the merged token, and rank + 1 (0 marks a free slot). */
const LEFT = 0;
const RIGHT = 1;
const MERGED = 2;
const RANK = 3;
const SLOT_FIELDS = 4;

/** Replaces the left id in rules that were removed. */
const FORBIDDEN = -1;

/**
 * Merge rules: which two tokens merge into which one, and at which rank. Lower ranks go first.
 * A single typed array with open addressing; each rule is within one cache line.
 */
export class MergeTable {
  /** Rank of the rule that the last `find` returned. */
  rank = -1;
  /** Merged token of the rule that the last `find` returned. */
  merged = -1;
  /** Number of ranks assigned so far. */
  count = 0;
  #stored = 0;
  #slots: Int32Array;
  #mask: number;

  /** @param expectedCount approximate number of rules; a good estimate avoids copying */
  constructor(expectedCount = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expectedCount, 16) * 2));
    this.#slots = new Int32Array(capacity * SLOT_FIELDS);
    this.#mask = capacity - 1;
  }

  /** Appends a rule with the next rank. A later rule for the same pair replaces an earlier one, as in the reference. */
  add(left: number, right: number, merged: number): void {
    if (++this.#stored * 2 > this.#mask) this.#grow();
    this.#store(left, right, merged, ++this.count);
  }

  /** Uses up a rank for a rule that can never apply. */
  skip(): void {
    this.count++;
  }

  /** Looks up the rule that merges these two tokens; if it returns true, `rank` and `merged` are set. */
  find(left: number, right: number): boolean {
    const slots = this.#slots;
    const at = this.#locate(left, right);
    const rank = slots[at + RANK]!;
    if (rank === 0) return false;
    this.rank = rank - 1;
    this.merged = slots[at + MERGED]!;
    return true;
  }

  /** Removes all rules whose merged token satisfies `isForbidden`. */
  forbid(isForbidden: (merged: number) => boolean): void {
    const slots = this.#slots;
    for (let at = 0; at < slots.length; at += SLOT_FIELDS) {
      // The slot stays occupied, so that rules stored after it in the probe sequence are still found.
      if (slots[at + RANK] !== 0 && isForbidden(slots[at + MERGED]!)) slots[at + LEFT] = FORBIDDEN;
    }
  }

  /** The slot of this pair, or the free slot where it would go. */
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
