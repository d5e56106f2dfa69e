import { randomUUID } from 'node:crypto';
import { ExactNumber, readNumber } from './exact-number.js';

/** Marks numbers that are temporarily strings; random, so that no input can contain it. */
const MARK = `number-${randomUUID()}:`;

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');

/**
 * Like `JSON.parse`, but keeps every digit: a number that JavaScript would print differently becomes an ExactNumber.
 * Strings are as fast as with `JSON.parse`.
 *
 * @throws SyntaxError like `JSON.parse`
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const marked = markNumbers(text);
  if (marked === null) return value;
  return JSON.parse(marked, (_key, item: unknown) =>
    typeof item === 'string' && item.startsWith(MARK) ? new ExactNumber(item.slice(MARK.length)) : item,
  );
}

/** Like `JSON.stringify`, but writes ExactNumbers and bigints digit by digit. */
export function stringifyExactJson(value: unknown): string {
  const marked = JSON.stringify(value, function (this: Record<string, unknown>, key, item: unknown) {
    // `item` is the result of `toJSON`; the original value is still in the object.
    const original = this[key];
    if (original instanceof ExactNumber) return `${MARK}${original.text}`;
    return typeof item === 'bigint' ? `${MARK}${item}` : item;
  });
  return marked.replace(MARKED, '$1');
}

/** The text of valid JSON with its inexact numbers as marked strings; null if it has none. */
function markNumbers(text: string): string | null {
  const pieces: string[] = [];
  let isChanged = false;
  let position = 0;
  while (position < text.length) {
    const quote = text.indexOf('"', position);
    const end = quote === -1 ? text.length : quote;
    pieces.push(
      text.slice(position, end).replace(NUMBER, (number) => {
        if (!(readNumber(number) instanceof ExactNumber)) return number;
        isChanged = true;
        return `"${MARK}${number}"`;
      }),
    );
    position = quote === -1 ? end : endOfString(text, quote);
    pieces.push(text.slice(end, position));
  }
  return isChanged ? pieces.join('') : null;
}

/** The index after a string that starts at `begin`. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, position: number): boolean {
  let slashes = 0;
  while (text[position - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}
