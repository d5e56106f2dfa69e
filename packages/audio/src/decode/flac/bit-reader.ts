import { MarkBaseError } from '@markbase/core';

/** Thrown within a decoder when the bits end; decoders catch it. */
export class OutOfBitsError extends MarkBaseError {
  readonly code = 'OUT_OF_BITS';

  constructor() {
    super('the bits end in the middle of a value: pass the decoder more bytes');
  }
}

/** Reads numbers of any width, the highest bit first. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #bit = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Bytes read, including a partly read last one. */
  get byteOffset(): number {
    return Math.ceil(this.#bit / 8);
  }

  /** A number of `count` bits, 0 to 32. */
  bits(count: number): number {
    if (count === 0) return 0;
    this.#need(count);
    const high = this.#window();
    const shift = this.#bit & 7;
    this.#bit += count;
    if (shift + count <= 32) return (high << shift) >>> (32 - count);
    const low = this.#bytes[(this.#bit - 1) >> 3]!;
    const lowBits = shift + count - 32;
    const top = ((high << shift) >>> (32 - count)) >>> lowBits;
    return top * 2 ** lowBits + (low >>> (8 - lowBits));
  }

  /** A number of `count` bits in two's complement, 1 to 33. */
  signed(count: number): number {
    if (count > 32) return this.signed(count - 16) * 2 ** 16 + this.bits(16);
    const value = this.bits(count);
    return value >= 2 ** (count - 1) ? value - 2 ** count : value;
  }

  /** The number of zeros before the next one. */
  unary(): number {
    const limit = this.#bytes.length * 8;
    let zeros = 0;
    for (;;) {
      if (this.#bit >= limit) throw new OutOfBitsError();
      const shift = this.#bit & 7;
      const ahead = this.#window() << shift;
      const found = Math.clz32(ahead);
      // The window holds 32 - shift bits of the stream.
      if (found < 32 - shift) {
        this.#bit += found + 1;
        if (this.#bit > limit) throw new OutOfBitsError();
        return zeros + found;
      }
      zeros += 32 - shift;
      this.#bit += 32 - shift;
    }
  }

  /** Skips to the next whole byte. */
  align(): void {
    this.#bit = this.byteOffset * 8;
  }

  /** The 32 bits from the current byte on; zeros past the end. */
  #window(): number {
    const at = this.#bit >> 3;
    const bytes = this.#bytes;
    if (at + 4 <= bytes.length) {
      return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    let window = 0;
    for (let j = 0; j < 4; j += 1) window = (window << 8) | (bytes[at + j] ?? 0);
    return window;
  }

  #need(count: number): void {
    if (this.#bit + count > this.#bytes.length * 8) throw new OutOfBitsError();
  }
}
