import { isAscii } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { parseExactJson } from '@markbase/text';
import { badParameter, RequestError } from '../errors/request-error.js';
import { plainBody } from './exact-value.js';
import type { StringRange } from './json-shape.js';

const QUOTE_BYTES = 1;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);
const FIRST_PRINTABLE = 0x20;
/** Replaces a long string while the rest is parsed; random, so that no body can contain it. */
const MARK = `long-string-${randomUUID()}:`;

/**
 * Parses the JSON body of a request. Long ASCII strings, such as base64, bypass the parser: they are cut out and put
 * back, so that they are copied once instead of three times.
 *
 * @param longStrings positions of long strings in the bytes
 * @param textBytes maximum size of the rest
 * @throws RequestError: 413 if the rest is too large, 400 for invalid JSON or UTF-8
 */
export function parseBody(bytes: Buffer, longStrings: readonly StringRange[], textBytes: number): unknown {
  const strings: string[] = [];
  const pieces: Buffer[] = [];
  let next = 0;
  for (const { begin, end } of longStrings) {
    const string = plainString(bytes, begin, end);
    if (string === null) continue;
    pieces.push(bytes.subarray(next, begin), Buffer.from(`${MARK}${strings.length}`));
    strings.push(string);
    next = end;
  }
  pieces.push(bytes.subarray(next));
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (size > textBytes) throw tooMuchText(textBytes);
  const value = parsed(pieces.length === 1 ? bytes : Buffer.concat(pieces, size));
  return plainBody(strings.length > 0 ? restored(value, strings) : value);
}

/** The text of a string that needs no parser and is not a key; otherwise null. */
function plainString(bytes: Buffer, begin: number, end: number): string | null {
  const content = bytes.subarray(begin, end);
  if (!isAscii(content) || content.includes(BACKSLASH)) return null;
  let after = end + QUOTE_BYTES;
  while (SPACES.has(bytes[after]!)) after++;
  if (bytes[after] === COLON) return null;
  return hasControls(content) ? null : content.toString('latin1');
}

/** Whether ASCII text contains control characters, four bytes at a time: a body has up to 32 MiB. */
function hasControls(text: Buffer): boolean {
  const head = Math.min(-text.byteOffset & 3, text.length);
  const words = new Int32Array(text.buffer, text.byteOffset + head, (text.length - head) >> 2);
  const tail = head + 4 * words.length;
  for (let at = 0; at < head; at++) if (text[at]! < FIRST_PRINTABLE) return true;
  for (let at = tail; at < text.length; at++) if (text[at]! < FIRST_PRINTABLE) return true;
  // An iterator would take ten times as long. A byte below the first printable one borrows from its highest bit.
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
  }
  return false;
}

function parsed(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw badParameter(null, 'The body is not valid UTF-8', 'invalid_json', cause);
  }
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw badParameter(null, 'The body is not valid JSON', 'invalid_json', cause);
  }
}

function restored(root: unknown, strings: readonly string[]): unknown {
  const holder: Record<string, unknown> = { root };
  const stack = [holder];
  for (let node = stack.pop(); node; node = stack.pop()) {
    for (const [key, value] of Object.entries(node)) {
      if (typeof value === 'object' && value !== null) stack.push(value as Record<string, unknown>);
      else if (typeof value === 'string' && value.startsWith(MARK)) {
        // An assignment to `__proto__` would not create a property.
        Object.defineProperty(node, key, {
          value: strings[Number(value.slice(MARK.length))],
          writable: true,
          enumerable: true,
          configurable: true,
        });
      }
    }
  }
  return holder.root;
}

function tooMuchText(textBytes: number): RequestError {
  const message = `The body has more than ${textBytes} bytes of text: send less, or raise limits.textBytes`;
  return new RequestError({ status: 413, message, apiCode: 'body_too_large' });
}
