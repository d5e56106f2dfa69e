/** Limits of `JsonShape`. */
export interface JsonShapeLimits {
  /** Maximum nesting depth. */
  readonly depth: number;
  /** Maximum number of values and keys. */
  readonly values: number;
}

/** Position of a string's text in the bytes. */
export interface StringRange {
  readonly begin: number;
  readonly end: number;
}

/** The limit that a text exceeds. */
export type JsonExcess = 'depth' | 'values';

/** Strings of at least this length are recorded. */
const LONG_BYTES = 65_536;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/**
 * Counts the values and levels of a JSON text while its bytes arrive, in constant memory: a parser needs many times the
 * size of a text such as `[[],[],…]`. For invalid JSON the counts are meaningless; the parser refuses it.
 */
export class JsonShape {
  /** Long strings and keys, in order. */
  readonly longStrings: StringRange[] = [];
  readonly #limits: JsonShapeLimits;
  /** Bytes of earlier chunks. */
  #offset = 0;
  #stringBegin = 0;
  #depth = 0;
  #values = 1;
  #isInString = false;
  /** The last chunk ended inside a string with an odd number of backslashes. */
  #isEscaped = false;

  constructor(limits: JsonShapeLimits) {
    this.#limits = limits;
  }

  /** Takes the next bytes; returns the limit that they exceed, or null. */
  push(bytes: Buffer): JsonExcess | null {
    let at = 0;
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#skipString(bytes, at);
        continue;
      }
      const byte = bytes[at++]!;
      if (byte === QUOTE) {
        this.#isInString = true;
        this.#stringBegin = this.#offset + at;
      } else if (byte === COMMA) {
        if (++this.#values > this.#limits.values) return 'values';
      } else if (byte === 0x5b || byte === 0x7b) {
        if (++this.#depth > this.#limits.depth) return 'depth';
        if (++this.#values > this.#limits.values) return 'values';
      } else if (byte === 0x5d || byte === 0x7d) this.#depth--;
      else if (byte === 0x3a) this.#values++;
    }
    this.#offset += bytes.length;
    return null;
  }

  /** Returns the index after the string, or the end of the bytes. */
  #skipString(bytes: Buffer, begin: number): number {
    for (let from = begin; ; ) {
      const quote = bytes.indexOf(QUOTE, from);
      const end = quote === -1 ? bytes.length : quote;
      let first = end;
      while (first > from && bytes[first - 1] === BACKSLASH) first--;
      const continues = first === begin && this.#isEscaped ? 1 : 0;
      const isEscaped = (end - first + continues) % 2 === 1;
      if (quote === -1) {
        this.#isEscaped = isEscaped;
        return end;
      }
      if (!isEscaped) {
        this.#isInString = false;
        this.#isEscaped = false;
        this.#note(this.#offset + quote);
        return quote + 1;
      }
      from = quote + 1;
    }
  }

  #note(end: number): void {
    const begin = this.#stringBegin;
    if (end - begin >= LONG_BYTES) this.longStrings.push({ begin, end });
  }
}
