import { type CharacterSet, characterGrammar } from './character-set.js';
import {
  asciiWhere,
  choice,
  control,
  type Expression,
  literal,
  optional,
  repeat,
  sequence,
} from './grammar.js';
import { JSON_CHARACTER, RAW_CHARACTER } from './string-grammar.js';

/** How values are written: as JSON, or as the arguments of a tool call. */
export interface Dialect {
  /** A string with this content between its quotes. */
  quoted(body: Expression): Expression;
  /** Any character of a string. */
  readonly character: Expression;
  /** One character of a set. */
  characterOf(set: CharacterSet): Expression;
  /** Exactly this text, in quotes. */
  text(value: string): Expression;
  /** The name of a property and the separator before its value. */
  key(name: string): Expression;
  /** Any property name and the separator before its value. */
  readonly anyKey: Expression;
  /** White space that is allowed around values. */
  readonly space: Expression;
  /** Sorts names into the order in which they are written. */
  inOrder(names: readonly string[]): readonly string[];
}

/** A space, or a line break with indentation. With more freedom a model might write nothing but white space. */
const SPACE = optional(choice(literal(' '), sequence(literal('\n'), repeat(literal(' '), 0, 32))));

const NAME_CHARACTER = asciiWhere((code) => /[\w-]/.test(String.fromCharCode(code)));

function jsonEscape(code: number): string | null {
  const text = String.fromCharCode(code);
  const escaped = JSON.stringify(text).slice(1, -1);
  return escaped === text ? null : escaped;
}

/** RFC 8259, with limited white space. */
export const JSON_DIALECT: Dialect = {
  quoted: (body) => sequence(literal('"'), body, literal('"')),
  character: JSON_CHARACTER,
  characterOf: (set) => characterGrammar(set, jsonEscape),
  text: (value) => literal(JSON.stringify(value)),
  key: (name) => sequence(literal(`${JSON.stringify(name)}:`), SPACE),
  anyKey: sequence(literal('"'), repeat(JSON_CHARACTER, 1, 64), literal('":')),
  space: SPACE,
  inOrder: (names) => names,
};

/**
 * The syntax of tool calls (docs/gemma4.md section 8.4): strings between quote tokens, unquoted names in alphabetical
 * order, no white space.
 *
 * @param quoteId id of the quote token
 */
export function toolCallDialect(quoteId: number): Dialect {
  const quote = control(quoteId);
  return {
    quoted: (body) => sequence(quote, body, quote),
    character: RAW_CHARACTER,
    characterOf: (set) => characterGrammar(set, () => null),
    text: (value) => sequence(quote, literal(value), quote),
    key: (name) => literal(`${name}:`),
    anyKey: sequence(repeat(NAME_CHARACTER, 1, 64), literal(':')),
    space: sequence(),
    inOrder: (names) =>
      [...names].sort((a, b) => {
        const [left, right] = [a.toLowerCase(), b.toLowerCase()];
        return left < right ? -1 : left > right ? 1 : 0;
      }),
  };
}
