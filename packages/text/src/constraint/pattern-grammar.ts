import { InvalidArgumentError } from '@markbase/core';
import { ANY_CHARACTER_CODES, type CharacterSet } from './character-set.js';
import { choice, type Expression, repeat, sequence } from './grammar.js';

/** Maximum number of repetitions in a pattern. */
const MOST_REPEATS = 1000;

/** Named character classes of regular expressions, as ranges of code points. */
const CLASSES: ReadonlyMap<string, CharacterSet> = new Map<string, CharacterSet>([
  ['d', [[0x30, 0x39]]],
  [
    'w',
    [
      [0x30, 0x39],
      [0x41, 0x5a],
      [0x5f, 0x5f],
      [0x61, 0x7a],
    ],
  ],
  [
    's',
    [
      [0x09, 0x0d],
      [0x20, 0x20],
    ],
  ],
]);
const ESCAPES: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['f', 12],
  ['v', 11],
  ['0', 0],
]);

/**
 * The strings in which a regular expression of JSON Schema (`pattern`) finds a match: literals, classes, groups, `|`,
 * `? * + {m,n}`, and anchors at its ends. `encode` turns a set of characters into their spelling in a string of the
 * dialect.
 *
 * @throws InvalidArgumentError for lookaround, backreferences and other unsupported syntax
 */
export function patternGrammar(pattern: string, encode: (set: CharacterSet) => Expression): Expression {
  return new PatternReader(pattern, encode).read();
}

class PatternReader {
  readonly #pattern: string;
  readonly #characters: readonly string[];
  readonly #encode: (set: CharacterSet) => Expression;
  #position = 0;

  constructor(pattern: string, encode: (set: CharacterSet) => Expression) {
    this.#pattern = pattern;
    this.#characters = [...pattern];
    this.#encode = encode;
  }

  read(): Expression {
    const anything = repeat(this.#encode(ANY_CHARACTER_CODES), 0);
    const options: Expression[] = [];
    do {
      const isAnchored = this.#take('^');
      const body = this.#sequence();
      const isClosed = this.#take('$');
      options.push(sequence(...(isAnchored ? [] : [anything]), body, ...(isClosed ? [] : [anything])));
    } while (this.#take('|'));
    if (this.#position < this.#characters.length) this.#refuse();
    return choice(...options);
  }

  #alternatives(): Expression {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return choice(...options);
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    for (let next = this.#peek(); next !== undefined && !'|)$'.includes(next); next = this.#peek()) {
      parts.push(this.#quantified(this.#atom()));
    }
    return sequence(...parts);
  }

  #quantified(item: Expression): Expression {
    const [least, most] = this.#quantifier();
    // Lazy and greedy repetition match the same strings.
    if (least !== 1 || most !== 1) this.#take('?');
    return least === 1 && most === 1 ? item : repeat(item, least, most);
  }

  #quantifier(): [number, number] {
    if (this.#take('?')) return [0, 1];
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    const counts = /^\{(\d+)(,(\d*))?\}/.exec(
      this.#characters.slice(this.#position, this.#position + 16).join(''),
    );
    if (!counts) return [1, 1];
    this.#position += counts[0].length;
    const least = Number(counts[1]);
    const most = counts[2] === undefined ? least : counts[3] ? Number(counts[3]) : Number.POSITIVE_INFINITY;
    if (least > MOST_REPEATS || (most > MOST_REPEATS && most !== Number.POSITIVE_INFINITY) || most < least)
      this.#refuse();
    return [least, most];
  }

  #atom(): Expression {
    const character = this.#characters[this.#position++]!;
    if (character === '(') {
      if (this.#take('?') && !this.#take(':')) this.#refuse();
      const group = this.#alternatives();
      if (!this.#take(')')) this.#refuse();
      return group;
    }
    if (character === '[') return this.#encode(this.#class());
    if (character === '.') return this.#encode(ANY_CHARACTER_CODES.flatMap((range) => without(range, 10)));
    if (character === '\\') return this.#encode(this.#escape());
    if ('^*+?{'.includes(character)) this.#refuse();
    return this.#encode([[character.codePointAt(0)!, character.codePointAt(0)!]]);
  }

  #class(): CharacterSet {
    const isNegated = this.#take('^');
    const set: [number, number][] = [];
    while (!this.#take(']')) {
      if (this.#peek() === undefined) this.#refuse();
      const first = this.#classItem();
      const isRange = this.#peek() === '-' && this.#characters[this.#position + 1] !== ']';
      if (!isRange) {
        set.push(...first);
        continue;
      }
      this.#position++;
      const last = this.#classItem();
      if (first.length !== 1 || last.length !== 1 || first[0]![0] > last[0]![1]) this.#refuse();
      set.push([first[0]![0], last[0]![1]]);
    }
    return isNegated ? complement(set) : set;
  }

  #classItem(): [number, number][] {
    const character = this.#characters[this.#position++]!;
    if (character === '\\') return this.#escape().map(([low, high]) => [low, high]);
    const code = character.codePointAt(0)!;
    return [[code, code]];
  }

  #escape(): CharacterSet {
    const character = this.#characters[this.#position++];
    if (character === undefined || /[1-9bBkpPc]/.test(character)) this.#refuse();
    const known = CLASSES.get(character.toLowerCase());
    if (known) return character === character.toLowerCase() ? known : complement(known);
    if (character === 'x' || character === 'u') {
      const length = character === 'x' ? 2 : 4;
      const hex = this.#characters.slice(this.#position, this.#position + length).join('');
      if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < length) this.#refuse();
      this.#position += length;
      return [[Number.parseInt(hex, 16), Number.parseInt(hex, 16)]];
    }
    const code = ESCAPES.get(character) ?? character.codePointAt(0)!;
    return [[code, code]];
  }

  #peek(): string | undefined {
    return this.#characters[this.#position];
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#position++;
    return true;
  }

  #refuse(): never {
    throw new InvalidArgumentError({
      argument: 'schema: pattern',
      expected: 'literals, classes, groups, |, ?, *, +, {m,n}, and anchors at the ends',
      received: this.#pattern,
    });
  }
}

function without([low, high]: readonly [number, number], code: number): [number, number][] {
  if (code < low || code > high) return [[low, high]];
  return (
    [
      [low, code - 1],
      [code + 1, high],
    ] as [number, number][]
  ).filter(([from, to]) => from <= to);
}

function complement(set: CharacterSet): CharacterSet {
  const sorted = [...set].sort((a, b) => a[0] - b[0]);
  const result: [number, number][] = [];
  for (const [low, high] of ANY_CHARACTER_CODES) {
    let next = low;
    for (const [from, to] of sorted) {
      if (to < next || from > high) continue;
      if (from > next) result.push([next, from - 1]);
      next = Math.max(next, to + 1);
    }
    if (next <= high) result.push([next, high]);
  }
  return result;
}
