import { InvalidArgumentError } from '@markbase/core';

/**
 * `X[k] = Σ_j x[j] · exp(-2πi·jk/N)` for one fixed length N, in place and in float64.
 *
 * The input goes to `re[reversed[j]]`, `im[reversed[j]]`; `transform` leaves the output in natural order.
 */
export class ComplexFft {
  readonly size: number;
  /** Where input j belongs: j with its bits in reverse order. */
  readonly reversed: Uint16Array;
  readonly re: Float64Array;
  readonly im: Float64Array;
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;

  /** @param size a power of two from 2 to 65,536 */
  constructor(size: number) {
    if (!Number.isInteger(Math.log2(size)) || size < 2 || size > 65_536) {
      throw new InvalidArgumentError({
        argument: 'size',
        expected: 'a power of two from 2 to 65536',
        received: size,
      });
    }
    this.size = size;
    this.reversed = reversedBits(size);
    this.re = new Float64Array(size);
    this.im = new Float64Array(size);
    const angle = (j: number): number => (2 * Math.PI * j) / size;
    this.#cosines = Float64Array.from({ length: size / 2 }, (_, j) => Math.cos(angle(j)));
    this.#sines = Float64Array.from({ length: size / 2 }, (_, j) => Math.sin(angle(j)));
  }

  /** Transforms what `re` and `im` hold. */
  transform(): void {
    const { re, im, size } = this;
    for (let span = 1; span < size; span *= 2) {
      const step = size / (2 * span);
      for (let j = 0; j < span; j += 1) {
        const c = this.#cosines[j * step]!;
        const s = this.#sines[j * step]!;
        for (let a = j; a < size; a += 2 * span) {
          const b = a + span;
          const x = re[b]! * c + im[b]! * s;
          const y = im[b]! * c - re[b]! * s;
          re[b] = re[a]! - x;
          im[b] = im[a]! - y;
          re[a] = re[a]! + x;
          im[a] = im[a]! + y;
        }
      }
    }
  }
}

function reversedBits(count: number): Uint16Array {
  const bits = Math.log2(count);
  return Uint16Array.from({ length: count }, (_, index) => {
    let reversed = 0;
    for (let bit = 0; bit < bits; bit += 1) if (index & (1 << bit)) reversed |= 1 << (bits - 1 - bit);
    return reversed;
  });
}
