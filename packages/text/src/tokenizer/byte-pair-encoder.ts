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
/** Number of characters or merges per step of a long piece: a few milliseconds. */
const STEP_COUNT = 1 << 14;

const encoder = new TextEncoder();
const ABSENT = -1;
/** Replaces the id of a symbol that was merged into its left neighbour. */
const GONE = -2;

/**
 * Byte-pair encoding of one piece of text: starting from characters, the adjacent pair with the lowest rank is merged,
 * leftmost first, until no rule applies. O(n log n) time, no recursion, reused buffers.
 */
export class BytePairEncoder {
  readonly #symbols: SymbolList;
  readonly #newSymbols: () => SymbolList;

  constructor(vocabulary: Vocabulary, merges: MergeTable, rules: UnknownCharacterRules) {
    const characters = new CharacterIds(vocabulary);
    this.#newSymbols = () => new SymbolList(characters, merges, rules);
    this.#symbols = this.#newSymbols();
  }

  /** Appends the ids of `text[begin, end)` to `output`. */
  encode(text: string, begin: number, end: number, output: number[]): void {
    const symbols = this.#symbols;
    symbols.begin(begin, end);
    symbols.fill(text, Number.POSITIVE_INFINITY);
    symbols.offerAll(Number.POSITIVE_INFINITY);
    symbols.merge(Number.POSITIVE_INFINITY);
    symbols.appendTo(output);
    symbols.shrink();
  }

  /** Like `encode`, in steps of a few milliseconds with separate buffers: other pieces may be encoded in between. */
  *encodeInSteps(text: string, begin: number, end: number, output: number[]): Generator<void, void, void> {
    const symbols = this.#newSymbols();
    symbols.begin(begin, end);
    while (!symbols.fill(text, STEP_COUNT)) yield;
    while (!symbols.offerAll(STEP_COUNT)) yield;
    while (!symbols.merge(STEP_COUNT)) yield;
    symbols.appendTo(output);
  }
}

/** Ids of single characters, looked up once. */
class CharacterIds {
  readonly #vocabulary: Vocabulary;
  // Id + 1 of each character of the basic multilingual plane; ABSENT if it has none, 0 if it was not looked up yet.
  readonly #ids = new Int32Array(0x10000);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  of(codePoint: number, text: string, index: number, width: number): number {
    if (width === 2) return this.#vocabulary.findText(text.slice(index, index + width));
    const known = this.#ids[codePoint]!;
    if (known !== 0) return known === ABSENT ? ABSENT : known - 1;
    const id = this.#vocabulary.findText(text.slice(index, index + 1));
    this.#ids[codePoint] = id === ABSENT ? ABSENT : id + 1;
    return id;
  }
}

/**
 * The symbols of one piece while they are merged. Each method does a bounded amount of work and returns whether it is
 * done.
 */
class SymbolList {
  readonly #characters: CharacterIds;
  readonly #merges: MergeTable;
  readonly #rules: UnknownCharacterRules;
  readonly #queue = new MergeQueue();
  #ids = new Int32Array(1024);
  #previous = new Int32Array(1024);
  #next = new Int32Array(1024);
  #count = 0;
  /** Where `fill` continues, and where the piece ends. */
  #at = 0;
  #end = 0;
  #isAfterUnknown = false;
  /** Where `offerAll` continues. */
  #offered = 0;

  constructor(characters: CharacterIds, merges: MergeTable, rules: UnknownCharacterRules) {
    this.#characters = characters;
    this.#merges = merges;
    this.#rules = rules;
  }

  /** Starts with the piece `[begin, end)` of a text. */
  begin(begin: number, end: number): void {
    this.#reserve(end - begin);
    this.#count = 0;
    this.#at = begin;
    this.#end = end;
    this.#isAfterUnknown = false;
    this.#offered = 0;
    this.#queue.clear();
  }

  /** Turns a limited number of characters into symbols. */
  fill(text: string, limit: number): boolean {
    const stop = Math.min(this.#end, this.#at + limit);
    let index = this.#at;
    while (index < stop) {
      const codePoint = text.codePointAt(index)!;
      const width = codePoint > 0xffff ? 2 : 1;
      const id = this.#characters.of(codePoint, text, index, width);
      if (id !== ABSENT) {
        this.#append(id);
        this.#isAfterUnknown = false;
      } else if (this.#appendBytes(text.slice(index, index + width))) {
        this.#isAfterUnknown = false;
      } else if (this.#rules.unknownId !== null) {
        if (!this.#isAfterUnknown || !this.#rules.isUnknownFused) this.#append(this.#rules.unknownId);
        this.#isAfterUnknown = true;
      }
      index += width;
    }
    this.#at = index;
    if (index < this.#end) return false;
    if (this.#count > 0) this.#next[this.#count - 1] = -1;
    return true;
  }

  /** Queues the merges of a limited number of neighbours. */
  offerAll(limit: number): boolean {
    const stop = Math.min(this.#count - 1, this.#offered + limit);
    for (; this.#offered < stop; this.#offered++) this.#offer(this.#offered, this.#offered + 1);
    return this.#offered >= this.#count - 1;
  }

  /** Applies a limited number of merges from the queue. */
  merge(limit: number): boolean {
    const ids = this.#ids;
    const previous = this.#previous;
    const next = this.#next;
    const merges = this.#merges;
    const queue = this.#queue;
    for (let count = 0; count < limit; count++) {
      if (!queue.pop()) return true;
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
    return false;
  }

  /** Appends the remaining symbols. */
  appendTo(output: number[]): void {
    for (let symbol = this.#count > 0 ? 0 : -1; symbol !== -1; symbol = this.#next[symbol]!) {
      output.push(this.#ids[symbol]!);
    }
  }

  /** Releases the buffers of a long piece. */
  shrink(): void {
    if (this.#ids.length <= MAX_KEPT_SYMBOLS) return;
    this.#ids = new Int32Array(1024);
    this.#previous = new Int32Array(1024);
    this.#next = new Int32Array(1024);
    this.#queue.release();
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
}

function grown(array: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(array);
  return larger;
}
