import { InvalidArgumentError } from '@markbase/core';

/** Deepest nesting of arguments, results and schemas that is accepted. */
const MAX_DEPTH = 64;

const FIRST_PRIVATE = 0xe000;
const LAST_PRIVATE = 0xf8ff;

/**
 * Marks the text of users, so that nothing in it can look like a control token once a template has put it
 * between its own. The mark, a private-use character that the text itself does not have, goes behind every
 * character that a control token can begin with. `<|turn>` of a user is then no longer `<|turn>`, also when a
 * user spreads it over two parts that the template puts side by side.
 */
export class TextMarker {
  readonly mark: string;
  readonly #firstCharacters: RegExp;

  /**
   * @param values everything that comes from users
   * @param firstCharacters first characters of the control tokens
   */
  constructor(values: readonly unknown[], firstCharacters: readonly string[]) {
    this.mark = unusedCharacter(values);
    const set = firstCharacters.map((character) => `\\u${hex(character)}`).join('');
    // A class without characters matches nothing.
    this.#firstCharacters = new RegExp(`[${set}]`, 'g');
  }

  /** Marks a text, or all texts and keys inside of a value. */
  apply<T>(value: T): T {
    return mapTexts(value, (text) =>
      text.replace(this.#firstCharacters, (character) => character + this.mark),
    ) as T;
  }

  /** Takes all marks out of a text. */
  remove(text: string): string {
    return text.replaceAll(this.mark, '');
  }
}

/** Applies `change` to all texts and keys inside of a JSON value. Fields that are undefined are left out. */
export function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) {
    throw new InvalidArgumentError({
      argument: 'messages or tools',
      expected: `values with at most ${MAX_DEPTH} levels`,
      received: 'deeper ones',
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
    expected: 'texts that leave one private-use character free',
    received: 'texts with all 6,400 of them',
  });
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
