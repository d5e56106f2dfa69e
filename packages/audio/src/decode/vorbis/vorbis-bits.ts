/** Reads numbers of any width from a Vorbis packet, the lowest bit first. Past the end everything is 0, and `hasEnded` is true. */
export class VorbisBits {
  readonly #bytes: Uint8Array;
  #bit = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** True once more bits have been requested than exist. */
  get hasEnded(): boolean {
    return this.#bit > this.#bytes.length * 8;
  }

  /** A number of `count` bits, 0 to 32. */
  bits(count: number): number {
    if (count > 24) return this.bits(24) + this.bits(count - 24) * 2 ** 24;
    const value = this.peek() & ((1 << count) - 1);
    this.#bit += count;
    return value;
  }

  flag(): boolean {
    return this.bits(1) === 1;
  }

  /** At least the next 25 bits, without reading them. */
  peek(): number {
    const at = this.#bit >> 3;
    const bytes = this.#bytes;
    const word =
      at + 4 <= bytes.length
        ? bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
        : (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
    return word >>> (this.#bit & 7);
  }

  skip(count: number): void {
    this.#bit += count;
  }

  /** A number with 21 bits of mantissa, 10 of exponent and a sign. */
  float(): number {
    const word = this.bits(32);
    const mantissa = word % 2 ** 21;
    const exponent = Math.floor(word / 2 ** 21) % 2 ** 10;
    return (word >= 2 ** 31 ? -mantissa : mantissa) * 2 ** (exponent - 788);
  }
}

/** Bits that the number needs: 0 for 0, 1 for 1, 2 for 2 and 3, … */
export function bitLength(value: number): number {
  return 32 - Math.clz32(value);
}
