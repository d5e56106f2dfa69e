import { readNumber } from './exact-number.js';

/** Text of the token that delimits strings: everything between two of them is literal. */
export const QUOTE = '<|"|>';

/**
 * Stands for that token while a call is read, so that a string may contain the same characters. It is not well-formed
 * UTF-16, so no text contains it.
 */
export const QUOTE_MARK = '\0\udfff';

/** Maximum nesting depth of values in a call. */
const MAX_DEPTH = 64;

/** Quotes of other languages: a bare value that contains one is ambiguous. */
const FOREIGN_QUOTE = /["'`\u2018-\u201f]/;

const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
]);

/** Thrown only inside the reader, for text that cannot be repaired. */
class Unreadable {}

/**
 * Reads the arguments of a tool call in one pass over the text, with repairs if only one reading makes sense. Numbers
 * keep their digits (ExactNumber).
 */
export class ToolValueReader {
  /** True if the text was not quite valid and had to be repaired. */
  isRepaired = false;
  readonly #text: string;
  #position: number;
  readonly #quotes: Finder;
  readonly #colons: Finder;

  constructor(text: string, position: number) {
    this.#text = text;
    this.#position = position;
    this.#quotes = new Finder(text, QUOTE_MARK);
    this.#colons = new Finder(text, ':');
  }

  /** The object at the position, which has to extend to the end of the text; null if it is unreadable. */
  readAll(): Record<string, unknown> | null {
    try {
      const value = this.#readObject(0);
      const rest = this.#text.slice(this.#position).trim();
      if (rest !== '') {
        // Surplus closing brackets are harmless; anything else means that the call was misread.
        if (!/^[\]}\s]*$/.test(rest)) return null;
        this.isRepaired = true;
      }
      return value;
    } catch (error) {
      if (error instanceof Unreadable) return null;
      throw error;
    }
  }

  #readObject(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#readItems('}', depth, () => entries.push([this.#readKey(), this.#readValue(depth + 1)]));
    // Two values for one name are ambiguous.
    if (new Set(entries.map(([key]) => key)).size < entries.length) throw new Unreadable();
    // Not by assignment: a key may be named __proto__.
    return Object.fromEntries(entries);
  }

  #readArray(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#readItems(']', depth, () => items.push(this.#readValue(depth + 1)));
    return items;
  }

  #readItems(closing: string, depth: number, readItem: () => void): void {
    if (depth > MAX_DEPTH) throw new Unreadable();
    this.#position++;
    for (;;) {
      this.#skipSpace();
      const next = this.#text[this.#position];
      if (next === closing) {
        this.#position++;
        return;
      }
      if (next === undefined) {
        this.isRepaired = true;
        return;
      }
      readItem();
      this.#skipSpace();
      const separator = this.#text[this.#position];
      if (separator === ',') this.#position++;
      else if (separator !== closing && separator !== undefined) throw new Unreadable();
    }
  }

  #readKey(): string {
    let key: string;
    if (this.#isAtQuote()) {
      key = this.#readQuoted();
    } else if (this.#text[this.#position] === '"') {
      key = this.#readJsonString();
    } else {
      // A colon is part of the name if another one follows directly before a string.
      const withColons = this.#take(/[^,{}[\]\0]*(?=:\0\udfff)/y);
      key = (withColons === '' ? this.#take(/[^:,{}[\]]*/y) : withColons).trim();
      if (key === '' || FOREIGN_QUOTE.test(key)) throw new Unreadable();
    }
    this.#skipSpace();
    if (this.#text[this.#position] !== ':') throw new Unreadable();
    this.#position++;
    return key;
  }

  #readValue(depth: number): unknown {
    this.#skipSpace();
    if (this.#isAtQuote()) return this.#readQuoted();
    const next = this.#text[this.#position];
    if (next === '{') return this.#readObject(depth);
    if (next === '[') return this.#readArray(depth);
    if (next === '"') return this.#readJsonString();
    return this.#readBare();
  }

  /** A string between two quote tokens. If the second is missing, it extends to the closing brackets at the end. */
  #readQuoted(): string {
    const begin = this.#position + QUOTE_MARK.length;
    const end = this.#quotes.next(begin);
    if (end === -1) {
      this.isRepaired = true;
      this.#position = this.#text.length;
      const rest = withoutClosing(this.#text, begin);
      // What follows may be another member or part of the string.
      if (/,[^,]*:/.test(rest)) throw new Unreadable();
      return rest;
    }
    this.#position = end + QUOTE_MARK.length;
    return this.#text.slice(begin, end);
  }

  /** A string in JSON syntax, which models sometimes mix in. */
  #readJsonString(): string {
    const begin = this.#position;
    let end = begin + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    if (end >= this.#text.length) throw new Unreadable();
    this.isRepaired = true;
    this.#position = end + 1;
    try {
      return JSON.parse(this.#text.slice(begin, end + 1));
    } catch {
      return this.#text.slice(begin + 1, end);
    }
  }

  /** A number, a word, or a string that lacks its first quote token or both. */
  #readBare(): unknown {
    const begin = this.#position;
    const bare = this.#take(/[^,{}[\]]*/y);
    const quote = this.#quotes.next(begin);
    const lostOnlyFirst = quote !== -1 && quote < this.#position;
    const word = bare.trim();
    if (!lostOnlyFirst) {
      if (WORDS.has(word)) return WORDS.get(word);
      const number = readNumber(word);
      if (number !== null) return number;
    }
    if (FOREIGN_QUOTE.test(bare)) throw new Unreadable();
    if (lostOnlyFirst || (quote !== -1 && this.#endsString(begin, quote))) {
      this.isRepaired = true;
      this.#position = quote + QUOTE_MARK.length;
      return this.#text.slice(begin, quote);
    }
    if (word === '' || !this.#isPlainWord(word)) throw new Unreadable();
    this.isRepaired = true;
    return word;
  }

  /** True if the quote token looks like the end of a string with commas or brackets that starts at `begin`. */
  #endsString(begin: number, quote: number): boolean {
    const colon = this.#colons.next(begin);
    const isBeforeNextKey = colon === -1 || colon > quote;
    return isBeforeNextKey && !':,[{'.includes(this.#text[quote - 1]!);
  }

  /** True for a bare string with an unambiguous end: a comma followed by a space may be part of it. */
  #isPlainWord(word: string): boolean {
    const isBeforeComma = this.#text[this.#position] === ',';
    return !isBeforeComma || (!/\s/.test(word) && !/\s/.test(this.#text[this.#position + 1] ?? ''));
  }

  #isAtQuote(): boolean {
    return this.#quotes.next(this.#position) === this.#position;
  }

  #skipSpace(): void {
    this.#take(/\s*/y);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const text = pattern.exec(this.#text)?.[0] ?? '';
    this.#position += text.length;
    return text;
  }
}

/** Finds occurrences of one string from increasing positions; all searches together take one pass over the text. */
class Finder {
  readonly #text: string;
  readonly #wanted: string;
  #found = -2;

  constructor(text: string, wanted: string) {
    this.#text = text;
    this.#wanted = wanted;
  }

  next(from: number): number {
    if (this.#found !== -1 && this.#found < from) this.#found = this.#text.indexOf(this.#wanted, from);
    return this.#found;
  }
}

/** The text from `begin` on, without trailing white space and closing brackets. */
function withoutClosing(text: string, begin: number): string {
  let end = text.length;
  while (end > begin && ' \t\r\n}]'.includes(text[end - 1]!)) end--;
  return text.slice(begin, end);
}
