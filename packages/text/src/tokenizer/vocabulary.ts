import { combineHashes, hashBytes, spreadHash } from './byte-hash.js';

// A byte order mark is a token like any other.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** Fields of an id: where its bytes begin, their number + 1 (0 marks an id without a token), and their hash. */
const BEGIN = 0;
const LENGTH = 1;
const HASH = 2;
const ID_FIELDS = 3;

/** Maximum share of occupied slots before the table grows. */
const MAX_LOAD = 0.55;

/**
 * Tokens and their ids, in both directions, as UTF-8 bytes in typed arrays: a quarter of a million JavaScript strings
 * with a Map would take ten times the memory and most of the loading time.
 */
export class Vocabulary {
  /** Highest id + 1; some ids below it may have no token. */
  size = 0;
  #count = 0;
  #bytes: Uint8Array;
  #usedBytes = 0;
  #ids: Int32Array;
  // Open addressing with linear probing. A slot has two fields: id + 1 (0 if free) and the hash.
  #slots: Int32Array;
  #mask: number;

  /** @param expectedCount approximate number of tokens; a good estimate avoids copying */
  constructor(expectedCount = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expectedCount, 16) * 2));
    this.#bytes = new Uint8Array(expectedCount * 10);
    this.#ids = new Int32Array(expectedCount * ID_FIELDS);
    this.#slots = new Int32Array(capacity * 2);
    this.#mask = capacity - 1;
  }

  /** Adds the token `source[begin, end)`. Returns false, and adds nothing, if its id or its text is taken. */
  add(id: number, source: Uint8Array, begin: number, end: number, hash: number): boolean {
    if (this.has(id)) return false;
    if (this.#count > this.#mask * MAX_LOAD) this.#growSlots();
    const slot = this.#locate(source, begin, end, hash);
    if (this.#slots[slot * 2] !== 0) return false;
    this.#reserve(id, end - begin);
    this.#slots[slot * 2] = id + 1;
    this.#slots[slot * 2 + 1] = hash;
    const at = id * ID_FIELDS;
    this.#ids[at + BEGIN] = this.#usedBytes;
    this.#ids[at + LENGTH] = end - begin + 1;
    this.#ids[at + HASH] = hash;
    for (let index = begin; index < end; index++) this.#bytes[this.#usedBytes++] = source[index]!;
    this.#count++;
    if (id >= this.size) this.size = id + 1;
    return true;
  }

  /** Like `add`, for a string. */
  addText(id: number, text: string): boolean {
    const bytes = encoder.encode(text);
    return this.add(id, bytes, 0, bytes.length, hashBytes(bytes, 0, bytes.length));
  }

  /** True if `id` has a token. */
  has(id: number): boolean {
    return id >= 0 && id < this.size && this.#ids[id * ID_FIELDS + LENGTH] !== 0;
  }

  /** Id of the token `source[begin, end)` with this `hash`, or -1. */
  find(source: Uint8Array, begin: number, end: number, hash: number): number {
    return this.#slots[this.#locate(source, begin, end, hash) * 2]! - 1;
  }

  /**
   * Id of the concatenation of two tokens, or -1.
   *
   * @param guess a likely id, tried first; -1 for none
   */
  findJoined(left: number, right: number, guess = -1): number {
    const leftLength = this.byteLength(left);
    const rightLength = this.byteLength(right);
    const length = leftLength + rightLength;
    if (guess !== -1 && this.byteLength(guess) === length) {
      const begin = this.beginOf(guess);
      if (this.#startsAt(begin, left) && this.#startsAt(begin + leftLength, right)) return guess;
    }
    const ids = this.#ids;
    const hash = combineHashes(ids[left * ID_FIELDS + HASH]!, ids[right * ID_FIELDS + HASH]!, rightLength);
    const slots = this.#slots;
    for (let slot = spreadHash(hash) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const id = slots[slot * 2]! - 1;
      if (id < 0) return -1;
      if (slots[slot * 2 + 1] !== hash || this.byteLength(id) !== length) continue;
      const begin = this.beginOf(id);
      if (this.#startsAt(begin, left) && this.#startsAt(begin + leftLength, right)) return id;
    }
  }

  /** Id of a token given as a string, or -1. */
  findText(text: string): number {
    const bytes = encoder.encode(text);
    return this.find(bytes, 0, bytes.length, hashBytes(bytes, 0, bytes.length));
  }

  /** Text of a token, or null if `id` has none. */
  textOf(id: number): string | null {
    return this.has(id) ? decoder.decode(this.bytesOf(id)) : null;
  }

  /** UTF-8 bytes of a token: a view, not a copy. */
  bytesOf(id: number): Uint8Array {
    const begin = this.beginOf(id);
    return this.#bytes.subarray(begin, begin + this.byteLength(id));
  }

  /** UTF-8 bytes of all tokens, concatenated: a view, not a copy. */
  get allBytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#usedBytes);
  }

  /** Where the bytes of a token start in `allBytes`. */
  beginOf(id: number): number {
    return this.#ids[id * ID_FIELDS + BEGIN]!;
  }

  /** Length of a token in bytes. */
  byteLength(id: number): number {
    return this.#ids[id * ID_FIELDS + LENGTH]! - 1;
  }

  /** Releases the memory that was reserved for further tokens. */
  trim(): void {
    this.#bytes = this.#bytes.slice(0, this.#usedBytes);
    this.#ids = this.#ids.slice(0, this.size * ID_FIELDS);
  }

  /** The slot of a token, or the free slot where it would go. */
  #locate(source: Uint8Array, begin: number, end: number, hash: number): number {
    const slots = this.#slots;
    for (let slot = spreadHash(hash) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const id = slots[slot * 2]! - 1;
      if (id < 0) return slot;
      if (slots[slot * 2 + 1] === hash && this.#equals(id, source, begin, end)) return slot;
    }
  }

  #equals(id: number, source: Uint8Array, begin: number, end: number): boolean {
    const bytes = this.#bytes;
    const own = this.beginOf(id);
    if (this.byteLength(id) !== end - begin) return false;
    for (let index = begin; index < end; index++) {
      if (bytes[own + index - begin] !== source[index]) return false;
    }
    return true;
  }

  /** True if the bytes of token `id` occur at `begin` in the bytes of all tokens. */
  #startsAt(begin: number, id: number): boolean {
    const bytes = this.#bytes;
    const own = this.beginOf(id);
    const length = this.byteLength(id);
    for (let index = 0; index < length; index++) {
      if (bytes[begin + index] !== bytes[own + index]) return false;
    }
    return true;
  }

  #reserve(id: number, byteLength: number): void {
    const neededBytes = this.#usedBytes + byteLength;
    if (neededBytes > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, neededBytes));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    const neededFields = (id + 1) * ID_FIELDS;
    if (neededFields > this.#ids.length) {
      const grown = new Int32Array(Math.max(this.#ids.length * 2, neededFields));
      grown.set(this.#ids);
      this.#ids = grown;
    }
  }

  #growSlots(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] === 0) continue;
      let slot = spreadHash(old[at + 1]!) & this.#mask;
      while (this.#slots[slot * 2] !== 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot * 2] = old[at]!;
      this.#slots[slot * 2 + 1] = old[at + 1]!;
    }
  }
}
