import { ComplexFft } from '../../math/complex-fft.js';

/**
 * `y[i] = Σ_k X[k] · cos(2π/N · (i + 1/2 + N/4) · (k + 1/2))` for N/2 coefficients and i = 0 … N-1.
 *
 * The second and third quarter are a DCT of type IV of the coefficients, backwards and negated; the first one mirrors the second,
 * negated, and the fourth the third. The DCT goes through a complex transform of N/4 points.
 */
export class InverseMdct {
  readonly #fft: ComplexFft;
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;
  readonly #dct: Float64Array;

  /** @param size N, a power of two from 16 */
  constructor(readonly size: number) {
    const quarter = size / 4;
    this.#fft = new ComplexFft(quarter);
    const angle = (k: number): number => (2 * Math.PI * (k + 1 / 8)) / size;
    this.#cosines = Float64Array.from({ length: quarter }, (_, k) => Math.cos(angle(k)));
    this.#sines = Float64Array.from({ length: quarter }, (_, k) => Math.sin(angle(k)));
    this.#dct = new Float64Array(size / 2);
  }

  /** Transforms `spectrum` [N/2] into `output` [N]. */
  transform(spectrum: Float32Array, output: Float32Array): void {
    this.#transformDct(spectrum);
    const half = this.size / 2;
    const quarter = this.size / 4;
    for (let j = 0; j < half; j += 1) output[quarter + j] = -this.#dct[half - 1 - j]!;
    for (let j = 0; j < quarter; j += 1) {
      output[j] = -output[half - 1 - j]!;
      output[this.size - 1 - j] = output[half + j]!;
    }
  }

  #transformDct(spectrum: Float32Array): void {
    const { re, im, reversed, size: quarter } = this.#fft;
    const last = 2 * quarter - 1;
    for (let k = 0; k < quarter; k += 1) {
      const a = spectrum[2 * k]!;
      const b = spectrum[last - 2 * k]!;
      const c = this.#cosines[k]!;
      const s = this.#sines[k]!;
      re[reversed[k]!] = a * c + b * s;
      im[reversed[k]!] = b * c - a * s;
    }
    this.#fft.transform();
    for (let k = 0; k < quarter; k += 1) {
      const c = this.#cosines[k]!;
      const s = this.#sines[k]!;
      this.#dct[2 * k] = re[k]! * c + im[k]! * s;
      this.#dct[last - 2 * k] = re[k]! * s - im[k]! * c;
    }
  }
}
