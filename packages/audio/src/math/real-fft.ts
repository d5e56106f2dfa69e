import { ComplexFft } from './complex-fft.js';

/**
 * Magnitudes of the spectrum of real signals of one fixed length N: `m[k] = |Σ_j x[j] · exp(-2πi·jk/N)|` for k = 0 … N/2.
 *
 * N real samples are transformed as N/2 complex ones and split into the spectra of the even and the odd samples. An instance
 * holds its tables and scratch memory: a transform allocates nothing.
 */
export class RealFft {
  readonly #fft: ComplexFft;
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;

  /** @param size a power of two from 4 to 131,072 */
  constructor(readonly size: number) {
    this.#fft = new ComplexFft(size / 2);
    const angle = (k: number): number => (2 * Math.PI * k) / size;
    this.#cosines = Float64Array.from({ length: size / 2 }, (_, k) => Math.cos(angle(k)));
    this.#sines = Float64Array.from({ length: size / 2 }, (_, k) => Math.sin(angle(k)));
  }

  /**
   * Writes the magnitudes of `signal`, padded with zeros to the size, to `magnitudes` [size / 2 + 1].
   *
   * @param signal an even number of samples, at most `size`
   */
  magnitudes(signal: Float64Array, magnitudes: Float64Array): void {
    const { re, im, reversed } = this.#fft;
    re.fill(0);
    im.fill(0);
    for (let j = 0; 2 * j < signal.length; j += 1) {
      re[reversed[j]!] = signal[2 * j]!;
      im[reversed[j]!] = signal[2 * j + 1]!;
    }
    this.#fft.transform();
    this.#split(magnitudes);
  }

  #split(magnitudes: Float64Array): void {
    const { re, im, size: half } = this.#fft;
    magnitudes[0] = Math.abs(re[0]! + im[0]!);
    magnitudes[half] = Math.abs(re[0]! - im[0]!);
    for (let k = 1; k < half; k += 1) {
      const m = half - k;
      const evenRe = (re[k]! + re[m]!) / 2;
      const evenIm = (im[k]! - im[m]!) / 2;
      const oddRe = (im[k]! + im[m]!) / 2;
      const oddIm = (re[m]! - re[k]!) / 2;
      const c = this.#cosines[k]!;
      const s = this.#sines[k]!;
      const x = evenRe + oddRe * c + oddIm * s;
      const y = evenIm + oddIm * c - oddRe * s;
      magnitudes[k] = Math.sqrt(x * x + y * y);
    }
  }
}
