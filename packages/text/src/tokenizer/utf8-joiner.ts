const REPLACEMENT = '\ufffd';

/**
 * Joins bytes that arrive one by one into characters. Each byte that does not belong to a valid character becomes one
 * U+FFFD, as in the reference decoder; valid characters next to it are kept.
 */
export class Utf8Joiner {
  #pending: number[] = [];
  #length = 0;

  /** Adds a byte; returns the text that is now complete. */
  push(byte: number): string {
    if (this.#pending.length === 0) return this.#start(byte);
    if (!isContinuation(this.#pending, byte)) return this.flush() + this.#start(byte);
    this.#pending.push(byte);
    if (this.#pending.length < this.#length) return '';
    const character = String.fromCodePoint(codePointOf(this.#pending));
    this.#pending = [];
    return character;
  }

  /** Ends an incomplete character: one U+FFFD for each of its bytes. */
  flush(): string {
    const text = REPLACEMENT.repeat(this.#pending.length);
    this.#pending = [];
    return text;
  }

  #start(byte: number): string {
    if (byte < 0x80) return String.fromCharCode(byte);
    if (byte < 0xc2 || byte > 0xf4) return REPLACEMENT;
    this.#pending.push(byte);
    this.#length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return '';
  }
}

/** True if `byte` may follow `pending`: no overlong forms, no surrogates, nothing above U+10FFFF. */
function isContinuation(pending: readonly number[], byte: number): boolean {
  if (byte < 0x80 || byte > 0xbf) return false;
  if (pending.length > 1) return true;
  switch (pending[0]) {
    case 0xe0:
      return byte >= 0xa0;
    case 0xed:
      return byte <= 0x9f;
    case 0xf0:
      return byte >= 0x90;
    case 0xf4:
      return byte <= 0x8f;
    default:
      return true;
  }
}

function codePointOf(bytes: readonly number[]): number {
  const first = bytes[0]! & (0x7f >> bytes.length);
  return bytes.slice(1).reduce((codePoint, byte) => (codePoint << 6) | (byte & 0x3f), first);
}
