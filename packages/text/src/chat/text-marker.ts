import { InvalidArgumentError } from '@markbase/core';
import { ExactNumber } from './exact-number.js';

/** Maximum nesting depth of arguments, results and schemas. */
const MAX_DEPTH = 64;

const FIRST_PRIVATE = 0xe000;
const LAST_PRIVATE = 0xf8ff;

/**
 * Marks user-provided text, so that nothing in it can look like a control token in a template's output. The mark is a
 * private-use character that does not occur in the text; it is inserted after every character that a control token can
 * start with. A user's `<|turn>` then no longer reads `<|turn>`, even if it is spread over two parts that the template
 * joins.
 */
export class TextMarker {
  readonly mark: string;
  readonly #firstCharacters: RegExp;

  /**
   * @param values everything that comes from the user
   * @param firstCharacters first characters of the control tokens
   */
  constructor(values: readonly unknown[], firstCharacters: readonly string[]) {
    this.mark = unusedCharacter(values);
    const set = firstCharacters.map((character) => `\\u${hex(character)}`).join('');
    // An empty class matches nothing.
    this.#firstCharacters = new RegExp(`[${set}]`, 'g');
  }

  /** Marks a text, or all strings and keys in a value. */
  apply<T>(value: T): T {
    return mapTexts(value, (text) =>
      text.replace(this.#firstCharacters, (character) => character + this.mark),
    ) as T;
  }

  /** Removes all marks from a text. */
  remove(text: string): string {
    return text.replaceAll(this.mark, '');
  }
}

/** Applies `change` to all strings and keys in a JSON value. Undefined fields are dropped. */
function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (depth > MAX_DEPTH) {
    throw new InvalidArgumentError({
      argument: 'messages or tools',
      expected: `values nested at most ${MAX_DEPTH} levels deep`,
      received: 'deeper nesting',
    });
  }
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [change(key), mapTexts(item, change, depth + 1)]),
  );
}

function unusedCharacter(values: readonly unknown[]): string {
  const used = new Set<string>();
  mapTexts(values, (text) => {
    for (const character of text.match(/[\ue000-\uf8ff]/g) ?? []) used.add(character);
    return text;
  });
  for (let unit = FIRST_PRIVATE; unit <= LAST_PRIVATE; unit++) {
    const character = String.fromCharCode(unit);
    if (!used.has(character)) return character;
  }
  throw new InvalidArgumentError({
    argument: 'messages',
    expected: 'text that leaves at least one private-use character unused',
    received: 'text that uses all 6,400 of them',
  });
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
