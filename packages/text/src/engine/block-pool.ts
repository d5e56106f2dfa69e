/**
 * Blocks of the caches of one kind of layer. A block belongs to the sequences that hold it, and to the known prefixes
 * if it is kept; one that nobody holds or keeps is free.
 */
export class BlockPool {
  /** Number of blocks. */
  readonly size: number;
  readonly #holders: Int32Array;
  readonly #isKept: Uint8Array;
  readonly #returned: number[] = [];
  #touched = 0;
  #idle = 0;

  constructor(size: number) {
    this.size = size;
    this.#holders = new Int32Array(size);
    this.#isKept = new Uint8Array(size);
  }

  /** Number of blocks that were ever taken: the ones whose memory a processor has committed. */
  get touchedCount(): number {
    return this.#touched;
  }

  /** Number of free blocks. */
  get freeCount(): number {
    return this.#returned.length + this.size - this.#touched;
  }

  /** Number of blocks that are kept, but not held by any sequence. */
  get idleCount(): number {
    return this.#idle;
  }

  /** Number of blocks that sequences hold. */
  get heldCount(): number {
    return this.size - this.freeCount - this.#idle;
  }

  /** Takes a free block, preferring those with committed memory; null if there is none. */
  take(): number | null {
    const block = this.#returned.pop() ?? (this.#touched < this.size ? this.#touched++ : null);
    if (block !== null) this.#holders[block] = 1;
    return block;
  }

  /** Adds a holder to a block that is held or kept. */
  hold(block: number): void {
    if (this.#holders[block] === 0) this.#idle--;
    this.#holders[block]!++;
  }

  /** Removes a holder. */
  drop(block: number): void {
    this.#holders[block]!--;
    if (this.#holders[block]! > 0) return;
    if (this.#isKept[block]) this.#idle++;
    else this.#returned.push(block);
  }

  /** Keeps a block that a sequence holds. */
  keep(block: number): void {
    this.#isKept[block] = 1;
  }

  /** Stops keeping a block. */
  forget(block: number): void {
    this.#isKept[block] = 0;
    if (this.#holders[block]! > 0) return;
    this.#idle--;
    this.#returned.push(block);
  }

  /** True if no sequence holds the block. */
  isIdle(block: number): boolean {
    return this.#holders[block] === 0;
  }
}
