import { isBareKey } from '../chat/tool-call-syntax.js';
import { QUOTE } from '../chat/tool-value-reader.js';
import { control, type Expression, FIRST_CONTROL, literal, machine, sequence } from './grammar.js';
import { GrammarBudget } from './grammar-budget.js';
import { ALL_TEXTS, combine } from './language/algebra.js';
import type { Dfa } from './language/dfa.js';
import { ListMachine } from './language/list-machine.js';
import { patternLanguage } from './language/pattern.js';
import type { Spelling } from './language/text-machine.js';

/** How values are written: as JSON, or as arguments of a tool call. */
export interface Dialect {
  /** A string with this between its quotes. */
  quoted(body: Expression): Expression;
  readonly spelling: Spelling;
  /** The strings that can be written. */
  readonly texts: Dfa;
  /** The symbols of a string with its quotes; null when it cannot be written. */
  symbolsOf(text: string): readonly number[] | null;
  /** A name of an object, with what separates it from its value; null when it cannot be written. */
  key(name: string): Expression | null;
  /** Names that a schema leaves open. */
  readonly keyTexts: Dfa;
  /** The same for names that a machine spells. */
  keyed(name: Expression): Expression;
  /** What may stand around values. */
  readonly space: Expression;
  /** Names in the order in which they are written. */
  inOrder(names: readonly string[]): readonly string[];
}

/** A space, or a line end with an indentation: more would let a model write nothing else. */
const SPACE = machine(
  new ListMachine(
    ['', ' ', ...Array.from({ length: 33 }, (_, indent) => `\n${' '.repeat(indent)}`)].map((text) =>
      Uint32Array.from(Buffer.from(text)),
    ),
  ),
);

/** RFC 8259, with little white space. */
export const JSON_DIALECT: Dialect = {
  quoted: (body) => sequence(literal('"'), body, literal('"')),
  spelling: { hasEscapes: true, isPlain: (code) => code >= 0x20 && code !== 0x22 && code !== 0x5c },
  texts: ALL_TEXTS,
  symbolsOf: (text) => [...Buffer.from(JSON.stringify(text))],
  key: (name) => sequence(literal(`${JSON.stringify(name)}:`), SPACE),
  keyTexts: ALL_TEXTS,
  keyed: (name) => sequence(literal('"'), name, literal('":'), SPACE),
  space: SPACE,
  inOrder: (names) => names,
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The syntax of tool calls (spec 8.4): strings between quote tokens, names bare where they can be and in alphabetical order, no white space.
 *
 * @param quoteId id of the quote token
 */
export function toolCallDialect(quoteId: number): Dialect {
  const quote = control(quoteId);
  const budget = new GrammarBudget();
  const isPlain = (code: number) => code >= 0x20 || code === 9 || code === 10;
  return {
    quoted: (body) => sequence(quote, body, quote),
    spelling: { hasEscapes: false, isPlain },
    texts: combine('without', ALL_TEXTS, patternLanguage('<\\|"\\|>', budget), budget),
    symbolsOf: (text) => {
      if (text.includes(QUOTE) || /\p{Surrogate}/u.test(text)) return null;
      return [FIRST_CONTROL + quoteId, ...Buffer.from(text), FIRST_CONTROL + quoteId];
    },
    key: (name) => {
      if (isBareKey(name)) return literal(`${name}:`);
      const quoted = name.includes(QUOTE) ? null : sequence(quote, literal(name), quote, literal(':'));
      return /\p{Surrogate}/u.test(name) ? null : quoted;
    },
    keyTexts: patternLanguage(NAME.source, budget),
    keyed: (name) => sequence(name, literal(':')),
    space: sequence(),
    inOrder: (names) =>
      [...names].sort((a, b) => {
        const [left, right] = [a.toLowerCase(), b.toLowerCase()];
        return left < right ? -1 : left > right ? 1 : 0;
      }),
  };
}
