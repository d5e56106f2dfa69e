import type { AST } from '@eslint-community/regexpp';
import type { GrammarBudget } from '../grammar-budget.js';
import { type CharacterSet, complementOf, unionOf } from './character-set.js';

const DIGIT: CharacterSet = [[0x30, 0x39]];
/** `\w` of ECMA-262. */
export const WORD: CharacterSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** `\s` of ECMA-262: WhiteSpace and LineTerminator. */
const SPACE: CharacterSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LINE_END: CharacterSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** An element of a pattern that matches one character. */
export type CharacterElement =
  | AST.Character
  | AST.CharacterSet
  | AST.CharacterClass
  | AST.CharacterClassRange;

/** Sets computed so far, by the text of the element; each takes a scan of Unicode. */
const asked = new Map<string, CharacterSet>();
const MAX_ASKED = 64;
/** Elementary steps that take as long as a scan of Unicode. */
const SCAN_STEPS = 250_000;

/** How a part of a pattern is read. */
export interface Modes {
  readonly ignoresCase: boolean;
  readonly dotAll: boolean;
}

/**
 * The characters that an element matches. Null if it may match more than one character.
 *
 * @throws InvalidArgumentError at a limit
 */
export function charactersOf(
  element: CharacterElement,
  { ignoresCase, dotAll }: Modes,
  budget: GrammarBudget,
): CharacterSet | null {
  if (element.type === 'CharacterSet' && element.kind === 'any')
    return dotAll ? complementOf([]) : complementOf(LINE_END);
  if (ignoresCase) return askEngine(element.raw, 'giu', budget);
  switch (element.type) {
    case 'Character':
      return [[element.value, element.value]];
    case 'CharacterClassRange':
      return [[element.min.value, element.max.value]];
    case 'CharacterSet':
      return setOf(element, budget);
    case 'CharacterClass': {
      const sets: CharacterSet[] = [];
      for (const part of element.elements) {
        if (part.type !== 'Character' && part.type !== 'CharacterSet' && part.type !== 'CharacterClassRange')
          return null;
        const set = charactersOf(part, { ignoresCase, dotAll }, budget);
        if (!set) return null;
        sets.push(set);
      }
      const union = unionOf(sets);
      return element.negate ? complementOf(union) : union;
    }
  }
}

function setOf(
  element: Exclude<AST.CharacterSet, AST.AnyCharacterSet>,
  budget: GrammarBudget,
): CharacterSet | null {
  if (element.kind === 'property') return element.strings ? null : askEngine(element.raw, 'gu', budget);
  const set = { digit: DIGIT, space: SPACE, word: WORD }[element.kind];
  return element.negate ? complementOf(set) : set;
}

/** The JavaScript engine knows which characters match: it finds runs in the text of all characters. */
function askEngine(raw: string, flags: string, budget: GrammarBudget): CharacterSet {
  const key = `${flags}:${raw}`;
  const known = asked.get(key);
  if (known) return known;
  budget.addSteps(SCAN_STEPS);
  const set: [number, number][] = [];
  for (const match of allCharacters().text.matchAll(new RegExp(`(?:${raw})+`, flags))) {
    const [low, high] = [codeAt(match.index), codeAt(match.index + match[0].length) - 1];
    set.push([low, high]);
  }
  const found = unionOf([set]);
  asked.set(key, found);
  if (asked.size > MAX_ASKED) asked.delete(asked.keys().next().value!);
  return found;
}

let characters: WeakRef<{ readonly text: string }> | undefined;

/** All characters of Unicode in order. */
function allCharacters(): { readonly text: string } {
  const known = characters?.deref();
  if (known) return known;
  const made = { text: everyCharacter() };
  characters = new WeakRef(made);
  return made;
}

function everyCharacter(): string {
  const parts: string[] = [];
  const size = 0x1000;
  for (let low = 0; low < 0x110000; low += size) {
    const codes: number[] = [];
    for (let code = low; code < low + size; code++) if (code < 0xd800 || code > 0xdfff) codes.push(code);
    parts.push(String.fromCodePoint(...codes));
  }
  return parts.join('');
}

/** The code point at an index of the text of all characters. */
function codeAt(index: number): number {
  if (index < 0xd800) return index;
  return index < 0xf800 ? index + 0x800 : 0x10000 + (index - 0xf800) / 2;
}
