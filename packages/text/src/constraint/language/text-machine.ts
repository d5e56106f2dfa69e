// Long because it is one automaton: UTF-8 and JSON escapes on top of an automaton of code points.
import type { Machine } from '../machine.js';
import type { Spelling, TextData } from '../machine-data.js';
import { type Dfa, NO_STATE, rangeOf } from './dfa.js';

/** Characters that JSON spells with a letter after a backslash. */
const LETTERS: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 }).map(
    ([letter, code]) => [letter.charCodeAt(0), code],
  ),
);
const [BACKSLASH, LETTER_U] = [0x5c, 0x75];

/** A place within a character. */
type Inside =
  /** Between two characters. */
  | 'none'
  /** In UTF-8: code points from `low` to `high` are possible, after `count` more bytes. */
  | 'bytes'
  /** In UTF-8, if all possible code points lead to the same state, which is this one: `count` more bytes. */
  | 'rest'
  /** After a backslash. */
  | 'escape'
  /** After `\u` and `count` digits with the value `low`. */
  | 'digits'
  /** After the escape of the first surrogate, `high`: a backslash, a `u` and `count` digits follow. */
  | 'second-escape'
  | 'second-letter'
  | 'second-digits';
const KINDS: readonly Inside[] = [
  'none',
  'bytes',
  'rest',
  'escape',
  'digits',
  'second-escape',
  'second-letter',
  'second-digits',
];

/** Least code point with `count` bytes left: only the shortest spelling is well-formed. */
const LEAST_CODES = [0, 0, 0x800, 0x10000];

interface Place {
  readonly state: number;
  readonly inside: Inside;
  readonly low: number;
  readonly high: number;
  readonly count: number;
  readonly cost: number;
}

/** The bytes that spell the texts of a language. */
export class TextMachine implements Machine {
  readonly start: number;
  readonly data: TextData;
  readonly #dfa: Dfa;
  readonly #places: Place[] = [];
  readonly #ids = new Map<number, number>();

  constructor(data: TextData) {
    this.data = data;
    this.#dfa = data.dfa;
    this.start = data.dfa.start === NO_STATE ? -1 : this.#at(data.dfa.start);
  }

  /** The machine of a language in a spelling. */
  static of(dfa: Dfa, spelling: Spelling): TextMachine {
    return new TextMachine({ kind: 'text', dfa, spelling, costs: costsOf(dfa, spelling) });
  }

  isEnd(id: number): boolean {
    const { state, inside } = this.#places[id]!;
    return inside === 'none' && this.#dfa.isEnd[state] === 1;
  }

  costOf(id: number): number {
    return this.#places[id]!.cost;
  }

  advance(id: number, byte: number): number {
    const place = this.#places[id]!;
    const { state, low, high, count } = place;
    switch (place.inside) {
      case 'none':
        return this.#first(state, byte);
      case 'bytes':
        return this.#continue(place, byte);
      case 'rest':
        if (byte < 0x80 || byte > 0xbf) return -1;
        return count === 1 ? this.#at(state) : this.#place(state, 'rest', 0, 0, count - 1);
      case 'escape': {
        if (byte === LETTER_U) return this.#place(state, 'digits', 0, 0, 0);
        const code = LETTERS.get(byte);
        return code === undefined ? -1 : this.#after(state, code);
      }
      case 'digits': {
        const digit = hexOf(byte);
        if (digit < 0) return -1;
        const value = low * 16 + digit;
        if (count < 3) return this.#place(state, 'digits', value, 0, count + 1);
        if (value < 0xd800 || value > 0xdfff) return this.#after(state, value);
        return value < 0xdc00 ? this.#place(state, 'second-escape', 0, value, 0) : -1;
      }
      case 'second-escape':
        return byte === BACKSLASH ? this.#place(state, 'second-letter', 0, high, 0) : -1;
      case 'second-letter':
        return byte === LETTER_U ? this.#place(state, 'second-digits', 0, high, 0) : -1;
      case 'second-digits': {
        const digit = hexOf(byte);
        if (digit < 0) return -1;
        const value = low * 16 + digit;
        if (count < 3) return this.#place(state, 'second-digits', value, high, count + 1);
        if (value < 0xdc00 || value > 0xdfff) return -1;
        return this.#after(state, 0x10000 + (high - 0xd800) * 0x400 + value - 0xdc00);
      }
    }
  }

  /** The first byte of a character. */
  #first(state: number, byte: number): number {
    if (byte < 0x80) {
      if (byte === BACKSLASH && this.data.spelling.hasEscapes) return this.#place(state, 'escape', 0, 0, 0);
      return this.data.spelling.plain[byte] === 1 ? this.#after(state, byte) : -1;
    }
    if (byte >= 0xc2 && byte <= 0xdf) return this.#bytes(state, (byte & 0x1f) << 6, 1);
    if (byte >= 0xe0 && byte <= 0xef) return this.#bytes(state, (byte & 0xf) << 12, 2);
    return byte >= 0xf0 && byte <= 0xf4 ? this.#bytes(state, (byte & 0x7) << 18, 3) : -1;
  }

  #continue({ state, low, count }: Place, byte: number): number {
    if (byte < 0x80 || byte > 0xbf) return -1;
    const code = low + ((byte & 0x3f) << (6 * (count - 1)));
    if (code < LEAST_CODES[count]!) return -1;
    return count === 1 ? this.#after(state, code) : this.#bytes(state, code, count - 1);
  }

  /** Within a character with the bits of `low` so far. Overlong and invalid spellings lead nowhere. */
  #bytes(state: number, low: number, count: number): number {
    const high = low + (1 << (6 * count)) - 1;
    const isRegular = low >= LEAST_CODES[count]! && high <= 0x10ffff && (high < 0xd800 || low > 0xdfff);
    const range = rangeOf(this.#dfa, state, low);
    if (isRegular && this.#dfa.highs[range]! >= high) {
      const target = this.#dfa.targets[range]!;
      return target === NO_STATE ? -1 : this.#place(target, 'rest', 0, 0, count);
    }
    return this.#place(state, 'bytes', low, high, count);
  }

  #after(state: number, code: number): number {
    const target = this.#dfa.targets[rangeOf(this.#dfa, state, code)]!;
    return target === NO_STATE || (code >= 0xd800 && code <= 0xdfff) ? -1 : this.#at(target);
  }

  #at(state: number): number {
    return this.#place(state, 'none', 0, 0, 0);
  }

  #place(state: number, inside: Inside, low: number, high: number, count: number): number {
    const kind = KINDS.indexOf(inside);
    const key =
      ((state * 8 + kind) * 4 + count) * 0x400000 +
      (inside.startsWith('second') ? low * 0x400 + (high & 0x3ff) : low);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const cost = this.#cost(state, inside, low, high, count);
    const id =
      cost === Number.POSITIVE_INFINITY
        ? -1
        : this.#places.push({ state, inside, low, high, count, cost }) - 1;
    this.#ids.set(key, id);
    return id;
  }

  #cost(state: number, inside: Inside, low: number, high: number, count: number): number {
    switch (inside) {
      case 'none':
        return this.data.costs[state]!;
      case 'bytes': {
        return count + this.#least(state, Math.max(low, LEAST_CODES[count]!), Math.min(high, 0x10ffff));
      }
      case 'rest':
        return count + this.data.costs[state]!;
      case 'escape': {
        let cost = 5 + this.#least(state, 0, 0xffff);
        for (const code of LETTERS.values()) cost = Math.min(cost, 1 + this.#least(state, code, code));
        return Math.min(cost, 11 + this.#least(state, 0x10000, 0x10ffff));
      }
      case 'digits': {
        const unit = 16 ** (4 - count);
        const [first, last] = [low * unit, low * unit + unit - 1];
        const alone = 4 - count + this.#least(state, first, last);
        const [from, to] = [Math.max(first, 0xd800), Math.min(last, 0xdbff)];
        if (from > to) return alone;
        const pair = this.#least(state, pairOf(from, 0xdc00), pairOf(to, 0xdfff));
        return Math.min(alone, 10 - count + pair);
      }
      case 'second-escape':
        return 6 + this.#least(state, pairOf(high, 0xdc00), pairOf(high, 0xdfff));
      case 'second-letter':
        return 5 + this.#least(state, pairOf(high, 0xdc00), pairOf(high, 0xdfff));
      case 'second-digits': {
        const unit = 16 ** (4 - count);
        const [from, to] = [Math.max(low * unit, 0xdc00), Math.min(low * unit + unit - 1, 0xdfff)];
        return from > to
          ? Number.POSITIVE_INFINITY
          : 4 - count + this.#least(state, pairOf(high, from), pairOf(high, to));
      }
    }
  }

  /** Least number of bytes after a character in [low, high]. */
  #least(state: number, low: number, high: number): number {
    if (low > high) return Number.POSITIVE_INFINITY;
    const { first, highs, targets } = this.#dfa;
    let cost = Number.POSITIVE_INFINITY;
    for (
      let range = rangeOf(this.#dfa, state, low), from = low;
      range < first[state + 1]! && from <= high;
      from = highs[range++]! + 1
    ) {
      const to = Math.min(highs[range]!, high);
      const isSurrogate = from >= 0xd800 && to <= 0xdfff;
      const target = targets[range]!;
      if (target !== NO_STATE && !isSurrogate) cost = Math.min(cost, this.data.costs[target]!);
    }
    return cost;
  }
}

function pairOf(high: number, low: number): number {
  return 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
}

function lengthOf(code: number): number {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Least number of bytes of a character in [low, high]; infinity if none can be spelled. */
function leastBytes(low: number, high: number, { hasEscapes, plain }: Spelling): number {
  let least = Number.POSITIVE_INFINITY;
  for (let code = low; code <= Math.min(high, 0x7f); code++) if (plain[code]) return 1;
  if (hasEscapes && low < 0x80) {
    least = 6;
    for (const code of LETTERS.values()) if (code >= low && code <= high) least = 2;
  }
  if (high < 0x80) return least;
  const from = Math.max(low, 0x80);
  if (from >= 0xd800 && high <= 0xdfff) return least;
  return Math.min(least, lengthOf(from >= 0xd800 && from <= 0xdfff ? 0xe000 : from));
}

function costsOf(dfa: Dfa, spelling: Spelling): Float64Array {
  const { first, highs, targets } = dfa;
  const leadTo: { from: number; bytes: number }[][] = Array.from(dfa.isEnd, () => []);
  const known = new Map<number, number>();
  for (let from = 0; from < dfa.isEnd.length; from++) {
    for (let range = first[from]!; range < first[from + 1]!; range++) {
      const target = targets[range]!;
      if (target === NO_STATE) continue;
      const low = range === first[from] ? 0 : highs[range - 1]! + 1;
      const key = low * 0x200000 + highs[range]!;
      const bytes = known.get(key) ?? leastBytes(low, highs[range]!, spelling);
      known.set(key, bytes);
      leadTo[target]!.push({ from, bytes });
    }
  }
  const costs = new Float64Array(dfa.isEnd.length).fill(Number.POSITIVE_INFINITY);
  // Steps are one to six bytes long: one list of states for each cost.
  const byCost: number[][] = [[...dfa.isEnd.keys()].filter((state) => dfa.isEnd[state])];
  for (const state of byCost[0]!) costs[state] = 0;
  for (let cost = 0; cost < byCost.length; cost++) {
    for (const state of byCost[cost] ?? []) {
      if (costs[state] !== cost) continue;
      for (const { from, bytes } of leadTo[state]!) {
        const next = cost + bytes;
        if (!(next < costs[from]!)) continue;
        costs[from] = next;
        byCost[next] ??= [];
        byCost[next].push(from);
      }
    }
  }
  return costs;
}
