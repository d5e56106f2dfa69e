import { isBareKey } from '../chat/tool-call-syntax.js';
import { QUOTE } from '../chat/tool-value-reader.js';
import { control, type Expression, FIRST_CONTROL, literal, machine, sequence } from './grammar.js';
import { GrammarBudget } from './grammar-budget.js';
import { ALL_TEXTS, combine } from './language/algebra.js';
import type { Dfa } from './language/dfa.js';
import { ListMachine } from './language/list-machine.js';
import { patternLanguage } from './language/pattern.js';
import { type Spelling, spellingOf } from './machine-data.js';

/** How values are spelled: as JSON, or as arguments of a tool call. */
export interface Dialect {
  /** A string with this expression between its quotes. */
  quoted(body: Expression): Expression;
  readonly spelling: Spelling;
  /** The strings that can be spelled. */
  readonly texts: Dfa;
  /** The symbols of a string with its quotes; null if it cannot be spelled. */
  symbolsOf(text: string): Uint32Array | null;
  /** A property name and the separator to its value; null if the name cannot be spelled. */
  key(name: string): Expression | null;
  /** Names that a schema does not list. */
  readonly keyTexts: Dfa;
  /** A property name that a machine spells, and the separator to its value. */
  keyed(name: Expression): Expression;
  /** White space that is allowed around values. */
  readonly space: Expression;
  /** Sorts names into the order in which they are spelled. */
  inOrder(names: readonly string[]): readonly string[];
}

/** Nothing, a space, or a line end with indentation: with more freedom, a model could write white space forever. */
const SPACE = machine(
  ListMachine.of(
    ['', ' ', ...Array.from({ length: 33 }, (_, indent) => `\n${' '.repeat(indent)}`)].map((text) =>
      Uint32Array.from(Buffer.from(text)),
    ),
  ),
);

/** RFC 8259, with limited white space. */
export const JSON_DIALECT: Dialect = {
  quoted: (body) => sequence(literal('"'), body, literal('"')),
  spelling: spellingOf(true, (code) => code >= 0x20 && code !== 0x22 && code !== 0x5c),
  texts: ALL_TEXTS,
  symbolsOf: (text) => Uint32Array.from(Buffer.from(JSON.stringify(text))),
  key: (name) => sequence(literal(`${JSON.stringify(name)}:`), SPACE),
  keyTexts: ALL_TEXTS,
  keyed: (name) => sequence(literal('"'), name, literal('":'), SPACE),
  space: SPACE,
  inOrder: (names) => names,
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The syntax of tool calls (spec 8.4): strings between quote tokens, bare names where possible, in alphabetical order,
 * no white space.
 *
 * @param quoteId id of the quote token
 */
export function toolCallDialect(quoteId: number): Dialect {
  const quote = control(quoteId);
  const budget = new GrammarBudget();
  return {
    quoted: (body) => sequence(quote, body, quote),
    spelling: spellingOf(false, (code) => code >= 0x20 || code === 9 || code === 10),
    texts: combine('without', ALL_TEXTS, patternLanguage('<\\|"\\|>', budget), budget),
    symbolsOf: (text) => {
      if (text.includes(QUOTE) || /\p{Surrogate}/u.test(text)) return null;
      const bytes = Buffer.from(text);
      const symbols = new Uint32Array(bytes.length + 2).fill(FIRST_CONTROL + quoteId);
      symbols.set(bytes, 1);
      return symbols;
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
