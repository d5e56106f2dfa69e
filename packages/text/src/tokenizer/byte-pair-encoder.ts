import { MergeQueue } from './merge-queue.js';
import type { MergeTable } from './merge-table.js';
import type { Vocabulary } from './vocabulary.js';

/** How to encode characters that are missing from the vocabulary. */
export interface UnknownCharacterRules {
  /** Ids of the 256 byte tokens, -1 for missing ones; null if the model has no byte fallback. */
  readonly byteIds: Int32Array | null;
  /** Id of the token for unknown characters; null = they are dropped. */
  readonly unknownId: number | null;
  /** True if a run of unknown characters becomes a single token. */
  readonly isUnknownFused: boolean;
}

/** After a longer piece, the buffers are released. */
const MAX_KEPT_SYMBOLS = 1 << 16;

const encoder = new TextEncoder();
const ABSENT = -1;
/** Replaces the id of a symbol that was merged into its left neighbour. */
const GONE = -2;

/**
 * Byte-pair encoding of one piece of text: starting from characters, the adjacent pair with the lowest rank is merged,
 * leftmost first, until no rule applies. O(n log n) time, no recursion, reused buffers.
 */
export class BytePairEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #merges: MergeTable;
  readonly #rules: UnknownCharacterRules;
  // Id + 1 of each character of the basic multilingual plane; ABSENT if it has none, 0 if it was not looked up yet.
  readonly #characterIds = new Int32Array(0x10000);
  readonly #queue = new MergeQueue();
  #ids = new Int32Array(1024);
  #previous = new Int32Array(1024);
  #next = new Int32Array(1024);
  #count = 0;

  constructor(vocabulary: Vocabulary, merges: MergeTable, rules: UnknownCharacterRules) {
    this.#vocabulary = vocabulary;
    this.#merges = merges;
    this.#rules = rules;
  }

  /** Appends the ids of `text[begin, end)` to `output`. */
  encode(text: string, begin: number, end: number, output: number[]): void {
    this.#reserve(end - begin);
    this.#fillSymbols(text, begin, end);
    if (this.#count > 1) this.#mergeSymbols();
    for (let symbol = this.#count > 0 ? 0 : -1; symbol !== -1; symbol = this.#next[symbol]!) {
      output.push(this.#ids[symbol]!);
    }
    if (this.#ids.length > MAX_KEPT_SYMBOLS) this.#release();
  }

  #fillSymbols(text: string, begin: number, end: number): void {
    this.#count = 0;
    let isAfterUnknown = false;
    for (let index = begin; index < end; ) {
      const codePoint = text.codePointAt(index)!;
      const width = codePoint > 0xffff ? 2 : 1;
      const id = this.#idOfCharacter(codePoint, text, index, width);
      if (id !== ABSENT) {
        this.#append(id);
        isAfterUnknown = false;
      } else if (this.#appendBytes(text.slice(index, index + width))) {
        isAfterUnknown = false;
      } else if (this.#rules.unknownId !== null) {
        if (!isAfterUnknown || !this.#rules.isUnknownFused) this.#append(this.#rules.unknownId);
        isAfterUnknown = true;
      }
      index += width;
    }
    if (this.#count > 0) this.#next[this.#count - 1] = -1;
  }

  #idOfCharacter(codePoint: number, text: string, index: number, width: number): number {
    if (width === 2) return this.#vocabulary.findText(text.slice(index, index + width));
    const known = this.#characterIds[codePoint]!;
    if (known !== 0) return known === ABSENT ? ABSENT : known - 1;
    const id = this.#vocabulary.findText(text.slice(index, index + 1));
    this.#characterIds[codePoint] = id === ABSENT ? ABSENT : id + 1;
    return id;
  }

  /** Appends the byte tokens of a character; false if the model lacks one of them. */
  #appendBytes(character: string): boolean {
    const { byteIds } = this.#rules;
    if (byteIds === null) return false;
    const bytes = encoder.encode(character);
    if (bytes.some((byte) => byteIds[byte] === ABSENT)) return false;
    for (const byte of bytes) this.#append(byteIds[byte]!);
    return true;
  }

  #append(id: number): void {
    if (this.#count === this.#ids.length) this.#reserve(this.#count * 2);
    this.#ids[this.#count] = id;
    this.#previous[this.#count] = this.#count - 1;
    this.#next[this.#count] = this.#count + 1;
    this.#count++;
  }

  #mergeSymbols(): void {
    const ids = this.#ids;
    const previous = this.#previous;
    const next = this.#next;
    const merges = this.#merges;
    const queue = this.#queue;
    queue.clear();
    for (let symbol = 0; symbol + 1 < this.#count; symbol++) this.#offer(symbol, symbol + 1);
    while (queue.pop()) {
      const { rank, position } = queue;
      const follower = next[position]!;
      // The pair may have changed since it was queued; a symbol that was merged into its left neighbour is GONE.
      if (follower === -1 || ids[position] === GONE) continue;
      if (!merges.find(ids[position]!, ids[follower]!) || merges.rank !== rank) continue;
      ids[position] = merges.merged;
      ids[follower] = GONE;
      const after = next[follower]!;
      next[position] = after;
      if (after !== -1) {
        previous[after] = position;
        this.#offer(position, after);
      }
      const before = previous[position]!;
      if (before !== -1) this.#offer(before, position);
    }
  }

  #offer(symbol: number, follower: number): void {
    const merges = this.#merges;
    if (merges.find(this.#ids[symbol]!, this.#ids[follower]!)) this.#queue.push(merges.rank, symbol);
  }

  #reserve(capacity: number): void {
    if (capacity <= this.#ids.length) return;
    this.#ids = grown(this.#ids, capacity);
    this.#previous = grown(this.#previous, capacity);
    this.#next = grown(this.#next, capacity);
  }

  #release(): void {
    this.#ids = new Int32Array(1024);
    this.#previous = new Int32Array(1024);
    this.#next = new Int32Array(1024);
    this.#queue.release();
  }
}

function grown(array: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(array);
  return larger;
}
