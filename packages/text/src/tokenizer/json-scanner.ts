import { CorruptFileError } from '@markbase/core';
import { hashByte } from './byte-hash.js';
import { readEscape, writeUtf8 } from './json-escape.js';

/** Maximum nesting depth of JSON values; tokenizer files have about six levels. */
const MAX_DEPTH = 64;

/** Number of bytes of the file that are held at a time, and the maximum size of a single value. */
const WINDOW_BYTES = 256 * 1024;
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A source of bytes for a scanner. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Reads bytes from `offset` on into `target`; returns their number, 0 at the end. */
  read(target: Uint8Array, offset: number): number;
}

/**
 * Reads JSON directly from UTF-8 bytes, piece by piece, through a small window onto the file. Strings stay bytes
 * (`stringSource`, `stringBegin`, `stringEnd`; valid until the next string) and are hashed on the way, so that a file
 * with a million strings does not create any. Every violation is a CorruptFileError with its offset.
 */
export class JsonScanner {
  /** Buffer with the bytes of the last scanned string: the window, or a scratch buffer if the string had escapes. */
  stringSource: Uint8Array;
  stringBegin = 0;
  stringEnd = 0;
  stringHash = 0;
  readonly #source: ByteSource;
  readonly #path: string;
  #window = new Uint8Array(WINDOW_BYTES);
  // Offset of the window in the file, the number of bytes in it, and the scan position within it.
  #windowOffset = 0;
  #end = 0;
  #position = 0;
  // Bytes from here on must stay in the window; -1 while no value is being collected.
  #valueBegin = -1;
  #scratch = new Uint8Array(256);

  constructor(source: ByteSource, path: string) {
    this.#source = source;
    this.#path = path;
    this.stringSource = this.#window;
  }

  /** Size of the whole file. */
  get sizeBytes(): number {
    return this.#source.sizeBytes;
  }

  /** Offset of the next byte in the file. Assigning it seeks. */
  get offset(): number {
    return this.#windowOffset + this.#position;
  }

  set offset(offset: number) {
    this.#windowOffset = offset;
    this.#position = 0;
    this.#end = 0;
  }

  /** The next byte that is not white space, without consuming it; -1 at the end. */
  peek(): number {
    do {
      const window = this.#window;
      const end = this.#end;
      for (let position = this.#position; position < end; position++) {
        const byte = window[position]!;
        if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
          this.#position = position;
          return byte;
        }
      }
      this.#position = end;
    } while (this.#fill());
    return -1;
  }

  /** Consumes the next byte if it is `character`. */
  accept(character: string): boolean {
    if (this.peek() !== character.charCodeAt(0)) return false;
    this.#position++;
    return true;
  }

  /** Consumes the next byte, which must be `character`. */
  expect(character: string): void {
    if (!this.accept(character)) this.fail(`expected '${character}'`);
  }

  /** Scans a string; its bytes, without quotes and escapes, are then in the `string…` fields. */
  scanString(): void {
    this.expect('"');
    this.stringSource = this.#window;
    this.stringBegin = this.#position;
    let hash = 0;
    for (;;) {
      const window = this.#window;
      const end = this.#end;
      for (let position = this.#position; position < end; position++) {
        const byte = window[position]!;
        if (byte === QUOTE) {
          this.stringEnd = position;
          this.stringHash = hash;
          this.#position = position + 1;
          return;
        }
        if (byte === BACKSLASH || byte < 0x20) {
          this.#position = position;
          this.#scanEscapedString(hash);
          return;
        }
        hash = hashByte(hash, byte);
      }
      this.#position = end;
      this.stringEnd = end;
      if (!this.#fill()) this.fail('the file ends inside a string');
    }
  }

  /** The last scanned string as text. */
  stringText(): string {
    return decoder.decode(this.stringSource.subarray(this.stringBegin, this.stringEnd));
  }

  /** Scans an integer from 0 to `maximum`. */
  scanInteger(maximum: number): number {
    let digit = this.peek() - 0x30;
    if (digit < 0 || digit > 9) this.fail('expected an integer');
    let value = 0;
    while (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      if (value > maximum) this.fail(`expected an integer up to ${maximum}`);
      this.#position++;
      digit = this.#byte() - 0x30;
    }
    return value;
  }

  /** Skips one value of any kind. Its content is validated only as far as needed to find its end. */
  skipValue(): void {
    let depth = 0;
    do {
      const byte = this.peek();
      if (byte === -1) this.fail('the file ends inside a value');
      if (byte === QUOTE) {
        this.scanString();
        continue;
      }
      if (byte === 0x7b || byte === 0x5b) {
        if (++depth > MAX_DEPTH) this.fail(`nested more than ${MAX_DEPTH} levels deep`);
      } else if (byte === 0x7d || byte === 0x5d) {
        if (--depth < 0) this.fail('expected a value');
      } else if (depth === 0) {
        this.#skipLiteral();
        return;
      }
      this.#position++;
    } while (depth > 0);
  }

  /** Reads one value of any kind into JavaScript objects. */
  readValue(): unknown {
    this.peek();
    const { offset } = this;
    this.#valueBegin = this.#position;
    this.skipValue();
    const text = decoder.decode(this.#window.subarray(this.#valueBegin, this.#position));
    this.#valueBegin = -1;
    try {
      return JSON.parse(text);
    } catch (cause) {
      const reason = 'a value is not valid JSON';
      throw new CorruptFileError({
        rule: 'InvalidJson',
        path: this.#path,
        reason,
        offsetBytes: offset,
        cause,
      });
    }
  }

  /** Throws a CorruptFileError at the current offset. */
  fail(reason: string): never {
    throw new CorruptFileError({
      rule: 'InvalidJson',
      path: this.#path,
      reason,
      offsetBytes: this.offset,
    });
  }

  /** The byte at the position, or -1 at the end of the file. */
  #byte(): number {
    if (this.#position === this.#end && !this.#fill()) return -1;
    return this.#window[this.#position]!;
  }

  #skipLiteral(): void {
    let length = 0;
    for (; isLiteralByte(this.#byte()); length++) this.#position++;
    if (length === 0) this.fail('expected a value');
  }

  /** Continues a string at its first escape; the bytes before it are in the `string…` fields. */
  #scanEscapedString(hashSoFar: number): void {
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
    for (let index = this.stringBegin; index < this.#position; index++) write(this.#window[index]!);
    const take = (): number => {
      const byte = this.#byte();
      this.#position++;
      return byte;
    };
    for (let byte = take(); byte !== QUOTE; byte = take()) {
      if (byte < 0x20) this.fail('an unterminated string, or a control character in it');
      const before = used;
      if (byte === BACKSLASH) writeUtf8(readEscape(take) ?? this.fail('an invalid escape'), write);
      else write(byte);
      for (let index = before; index < used; index++) hash = hashByte(hash, this.#scratch[index]!);
    }
    this.stringSource = this.#scratch;
    this.stringBegin = 0;
    this.stringEnd = used;
    this.stringHash = hash;
  }

  /** Reads the next part of the file into the window; false at the end. Keeps the bytes that are still needed. */
  #fill(): boolean {
    const isStringHere = this.stringSource === this.#window;
    let keep = this.#position;
    if (isStringHere) keep = Math.min(keep, this.stringBegin);
    if (this.#valueBegin !== -1) keep = Math.min(keep, this.#valueBegin);
    const kept = this.#end - keep;
    if (kept > MAX_VALUE_BYTES) this.fail(`a value is larger than ${MAX_VALUE_BYTES} bytes`);
    const window = kept > this.#window.length / 2 ? new Uint8Array(this.#window.length * 2) : this.#window;
    window.set(this.#window.subarray(keep, this.#end));
    this.#window = window;
    this.#windowOffset += keep;
    this.#position -= keep;
    if (this.#valueBegin !== -1) this.#valueBegin -= keep;
    if (isStringHere) {
      this.stringSource = window;
      this.stringBegin -= keep;
      this.stringEnd -= keep;
    }
    const count = this.#source.read(window.subarray(kept), this.#windowOffset + kept);
    this.#end = kept + count;
    return count > 0;
  }
}

/** Bytes of numbers, true, false and null. */
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
