import { CorruptFileError } from '@markbase/core';
import { hashByte } from './byte-hash.js';

/** Deepest nesting of JSON values that is accepted; tokenizer files have about six levels. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Reads JSON straight from UTF-8 bytes, one piece at a time. Strings stay bytes (`stringSource`, `stringBegin`,
 * `stringEnd`) and are hashed on the way, so that a file with a million strings creates none.
 * Every violation is a CorruptFileError with the byte it was found at.
 */
export class JsonScanner {
  position = 0;
  /** Where the bytes of the last scanned string are: the file, or a scratch buffer when it had escapes. */
  stringSource: Uint8Array;
  stringBegin = 0;
  stringEnd = 0;
  stringHash = 0;
  readonly #bytes: Uint8Array;
  readonly #path: string;
  #scratch = new Uint8Array(256);

  constructor(bytes: Uint8Array, path: string) {
    this.#bytes = bytes;
    this.#path = path;
    this.stringSource = bytes;
  }

  /** Size of the whole file. */
  get sizeBytes(): number {
    return this.#bytes.length;
  }

  /** The next byte that is not white space, without taking it; -1 at the end. */
  peek(): number {
    const bytes = this.#bytes;
    let position = this.position;
    while (position < bytes.length) {
      const byte = bytes[position]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
        this.position = position;
        return byte;
      }
      position++;
    }
    this.position = position;
    return -1;
  }

  /** Takes the next byte when it is `character`. */
  accept(character: string): boolean {
    if (this.peek() !== character.charCodeAt(0)) return false;
    this.position++;
    return true;
  }

  /** Takes the next byte, which has to be `character`. */
  expect(character: string): void {
    if (!this.accept(character)) this.fail(`expected '${character}'`);
  }

  /** Scans a string; its bytes without quotes and escapes are then in the `string…` fields. */
  scanString(): void {
    this.expect('"');
    const bytes = this.#bytes;
    const begin = this.position;
    let hash = 0;
    let position = begin;
    for (; position < bytes.length; position++) {
      const byte = bytes[position]!;
      if (byte === QUOTE) {
        this.stringSource = bytes;
        this.stringBegin = begin;
        this.stringEnd = position;
        this.stringHash = hash;
        this.position = position + 1;
        return;
      }
      if (byte === BACKSLASH || byte < 0x20) break;
      hash = hashByte(hash, byte);
    }
    this.#scanEscapedString(begin, position, hash);
  }

  /** The last scanned string as text. */
  stringText(): string {
    return decoder.decode(this.stringSource.subarray(this.stringBegin, this.stringEnd));
  }

  /** Scans an integer from 0 to `maximum`. */
  scanInteger(maximum: number): number {
    this.peek();
    const begin = this.position;
    let value = 0;
    for (; this.position < this.#bytes.length; this.position++) {
      const digit = this.#bytes[this.position]! - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      if (value > maximum) this.fail(`expected an integer up to ${maximum}`);
    }
    if (this.position === begin) this.fail('expected an integer');
    return value;
  }

  /** Passes over one value of any kind. What is inside is checked only as far as finding its end needs. */
  skipValue(): void {
    let depth = 0;
    do {
      const byte = this.peek();
      if (byte === -1) this.fail('the file ends inside of a value');
      if (byte === QUOTE) {
        this.scanString();
        continue;
      }
      if (byte === 0x7b || byte === 0x5b) {
        if (++depth > MAX_DEPTH) this.fail(`more than ${MAX_DEPTH} levels of nesting`);
      } else if (byte === 0x7d || byte === 0x5d) {
        if (--depth < 0) this.fail('expected a value');
      } else if (depth === 0) {
        this.#skipLiteral();
        return;
      }
      this.position++;
    } while (depth > 0);
  }

  /** Reads one value of any kind into JavaScript objects. */
  readValue(): unknown {
    this.peek();
    const begin = this.position;
    this.skipValue();
    try {
      return JSON.parse(decoder.decode(this.#bytes.subarray(begin, this.position)));
    } catch (cause) {
      throw new CorruptFileError({
        rule: 'InvalidJson',
        path: this.#path,
        reason: 'a value is not valid JSON',
        offsetBytes: begin,
        cause,
      });
    }
  }

  /** Throws a CorruptFileError at the current position. */
  fail(reason: string): never {
    throw new CorruptFileError({
      rule: 'InvalidJson',
      path: this.#path,
      reason,
      offsetBytes: this.position,
    });
  }

  #skipLiteral(): void {
    const begin = this.position;
    while (this.position < this.#bytes.length && isLiteralByte(this.#bytes[this.position]!)) this.position++;
    if (this.position === begin) this.fail('expected a value');
  }

  #scanEscapedString(begin: number, firstEscape: number, hashSoFar: number): void {
    const bytes = this.#bytes;
    let hash = hashSoFar;
    let used = 0;
    const write = (byte: number): void => {
      if (used === this.#scratch.length) {
        const grown = new Uint8Array(this.#scratch.length * 2);
        grown.set(this.#scratch);
        this.#scratch = grown;
      }
      this.#scratch[used++] = byte;
    };
    for (let index = begin; index < firstEscape; index++) write(bytes[index]!);
    this.position = firstEscape;
    while (this.position < bytes.length) {
      const byte = bytes[this.position++]!;
      if (byte === QUOTE) {
        this.stringSource = this.#scratch;
        this.stringBegin = 0;
        this.stringEnd = used;
        this.stringHash = hash;
        return;
      }
      if (byte < 0x20) this.fail('a control character inside of a string');
      const before = used;
      if (byte === BACKSLASH) writeUtf8(this.#scanEscape(), write);
      else write(byte);
      for (let index = before; index < used; index++) hash = hashByte(hash, this.#scratch[index]!);
    }
    this.fail('the file ends inside of a string');
  }

  /** Scans what follows a backslash and returns the code point. */
  #scanEscape(): number {
    const byte = this.#bytes[this.position++] ?? -1;
    if (byte !== 0x75) {
      const plain = ESCAPES.get(byte);
      return plain ?? this.fail('an unknown escape inside of a string');
    }
    const unit = this.#scanHex();
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    const isPaired =
      unit < 0xdc00 &&
      this.#bytes[this.position] === BACKSLASH &&
      this.#bytes[this.position + 1] === 0x75 &&
      this.position + 6 <= this.#bytes.length;
    if (!isPaired) this.fail('half of a surrogate pair inside of a string');
    this.position += 2;
    const low = this.#scanHex();
    if (low < 0xdc00 || low > 0xdfff) this.fail('half of a surrogate pair inside of a string');
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }

  #scanHex(): number {
    const text = decoder.decode(this.#bytes.subarray(this.position, this.position + 4));
    if (!/^[0-9a-fA-F]{4}$/.test(text)) this.fail('expected four hexadecimal digits');
    this.position += 4;
    return Number.parseInt(text, 16);
  }
}

const ESCAPES: ReadonlyMap<number, number> = new Map([
  [QUOTE, QUOTE],
  [BACKSLASH, BACKSLASH],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/** Bytes of numbers, true, false and null; separators inside of objects and lists are passed over one by one. */
function isLiteralByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}

function writeUtf8(codePoint: number, write: (byte: number) => void): void {
  if (codePoint < 0x80) {
    write(codePoint);
  } else if (codePoint < 0x800) {
    write(0xc0 | (codePoint >> 6));
    write(0x80 | (codePoint & 0x3f));
  } else if (codePoint < 0x10000) {
    write(0xe0 | (codePoint >> 12));
    write(0x80 | ((codePoint >> 6) & 0x3f));
    write(0x80 | (codePoint & 0x3f));
  } else {
    write(0xf0 | (codePoint >> 18));
    write(0x80 | ((codePoint >> 12) & 0x3f));
    write(0x80 | ((codePoint >> 6) & 0x3f));
    write(0x80 | (codePoint & 0x3f));
  }
}
