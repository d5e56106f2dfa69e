import { byteRange, choice, type Expression, literal, sequence } from './grammar.js';

/** Code points, as inclusive ranges. */
export type CharacterSet = readonly (readonly [low: number, high: number])[];

/** Every character of Unicode. */
export const ANY_CHARACTER_CODES: CharacterSet = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** One character of a set, in UTF-8. `spell` returns another spelling for characters that the dialect has to escape. */
export function characterGrammar(set: CharacterSet, spell: (code: number) => string | null): Expression {
  const options: Expression[] = [];
  for (const [low, high] of set) {
    let next = low;
    // Only ASCII characters need escaping.
    for (let code = low; code <= Math.min(high, 0x7f); code++) {
      const spelling = spell(code);
      if (spelling === null) continue;
      if (code > next) options.push(...utf8Ranges(next, code - 1));
      options.push(literal(spelling));
      next = code + 1;
    }
    if (next <= high) options.push(...utf8Ranges(next, high));
  }
  return choice(...options);
}

const encoder = new TextEncoder();

/** Splits a range of code points where the length of their encoding changes, then by bytes. */
function utf8Ranges(low: number, high: number): Expression[] {
  const limits = [0x7f, 0x7ff, 0xd7ff, 0xffff, 0x10ffff];
  const options: Expression[] = [];
  let from = low;
  for (const limit of limits) {
    if (from > high) break;
    // Surrogates are not characters.
    if (from >= 0xd800 && from <= 0xdfff) from = 0xe000;
    const to = Math.min(high, limit);
    if (to < from) continue;
    const bytesOf = (code: number) => [...encoder.encode(String.fromCodePoint(code))];
    options.push(byteSequences(bytesOf(from), bytesOf(to)));
    from = to + 1;
  }
  return options;
}

/** All UTF-8 sequences between two of the same length; continuation bytes are 0x80 to 0xbf. */
function byteSequences(from: readonly number[], to: readonly number[]): Expression {
  const [first, last] = [from[0]!, to[0]!];
  if (from.length === 1) return byteRange(first, last);
  const [low, high] = [from.slice(1), to.slice(1)];
  if (first === last) return sequence(byteRange(first, first), byteSequences(low, high));
  const lowest = low.map(() => 0x80);
  const highest = high.map(() => 0xbf);
  const options = [
    sequence(byteRange(first, first), byteSequences(low, highest)),
    sequence(byteRange(last, last), byteSequences(lowest, high)),
  ];
  if (last - first > 1)
    options.push(sequence(byteRange(first + 1, last - 1), byteSequences(lowest, highest)));
  return choice(...options);
}
