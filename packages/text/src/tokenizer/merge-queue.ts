// A key is rank · 2³¹ + position: exact in a double for ranks below 2²², and ordered like the merges.
const RANK_FACTOR = 0x80000000;

/** Pending merges, lowest rank first and leftmost first among equals: a binary heap in a typed array. */
export class MergeQueue {
  /** Rank of the last merge that was popped. */
  rank = 0;
  /** Position of the left symbol of the last merge that was popped. */
  position = 0;
  #keys = new Float64Array(1024);
  #count = 0;

  /** Adds a merge. */
  push(rank: number, position: number): void {
    if (this.#count === this.#keys.length) {
      const grown = new Float64Array(this.#count * 2);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    const keys = this.#keys;
    const key = rank * RANK_FACTOR + position;
    let index = this.#count++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[index] = keys[parent]!;
      index = parent;
    }
    keys[index] = key;
  }

  /** Moves the first merge into `rank` and `position`; false if the queue is empty. */
  pop(): boolean {
    if (this.#count === 0) return false;
    const keys = this.#keys;
    const top = keys[0]!;
    const key = keys[--this.#count]!;
    const count = this.#count;
    let index = 0;
    for (let child = 1; child < count; child = 2 * index + 1) {
      if (child + 1 < count && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= key) break;
      keys[index] = keys[child]!;
      index = child;
    }
    keys[index] = key;
    this.rank = Math.floor(top / RANK_FACTOR);
    this.position = top - this.rank * RANK_FACTOR;
    return true;
  }

  /** Drops all merges. */
  clear(): void {
    this.#count = 0;
  }

  /** Drops all merges and releases the memory that a long text needed. */
  release(): void {
    this.#keys = new Float64Array(1024);
    this.#count = 0;
  }
}
